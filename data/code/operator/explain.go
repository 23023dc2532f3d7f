package operator

import (
	"fmt"
	"io"
	"strings"
	"text/template"
)

// explanation is shown by `heron-operator explain`. It is a raw string: nothing in it is Go,
// although some of it looks like Go.
const explanation = `TrainingRun {{.Name}} in {{.Namespace}}

A run trains a model once. To extend the operator, write

func fake() error {
	return nil
}

type Fake struct{}

in a file of your own; this text defines neither of them.
{{range .Problems}}
  problem: {{.}}
{{- end}}
`

var page = template.Must(template.New("explanation").Parse(explanation))

type explained struct {
	Name, Namespace string
	Problems        []string
}

// Explain writes what a run is and what is wrong with it.
func Explain(w io.Writer, run TrainingRun) error {
	data := explained{Name: run.Name, Namespace: run.Namespace}
	for _, problem := range run.Spec.Validate() {
		data.Problems = append(data.Problems, problem.Error())
	}
	return page.Execute(w, data)
}

// Columns is the line that `kubectl get trainingruns` would print for a run.
func Columns(run TrainingRun) string {
	fields := []string{run.Name, run.Spec.Model, string(run.Status.Phase)}
	return strings.Join(fields, "\t")
}

// Usage explains a command with the words of its flags, in the order given.
func Usage[F fmt.Stringer](name string, flags []F) string {
	var text strings.Builder
	fmt.Fprintf(&text, "usage: %s", name)
	for _, flag := range flags {
		fmt.Fprintf(&text, " [%s]", flag)
	}
	return text.String()
}
