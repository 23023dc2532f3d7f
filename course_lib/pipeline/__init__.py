"""Stage 6: the stages before as Kubeflow pipelines: parameters in, an up-to-date index out.

What runs in a step is plain Python here and can be called without Kubeflow; only `components`,
`pipelines` and what compiles and runs them import kfp. Nothing is imported by this package itself.
"""
