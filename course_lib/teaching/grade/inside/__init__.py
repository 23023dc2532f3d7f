"""What runs within the fence, next to the learner's code.

Nothing here decides about points: it runs what it is sent and reports what happened.
"""
