// Package operator turns TrainingRun resources into Jobs.
package operator

import (
	"fmt"
	"time"
)

// Phase is the summary of a run that kubectl prints.
type Phase string

// The phases of a run. Succeeded and Failed are final.
const (
	PhasePending   Phase = "Pending"
	PhaseRunning   Phase = "Running"
	PhaseSucceeded Phase = "Succeeded"
	PhaseFailed    Phase = "Failed"
	PhaseSuspended Phase = "Suspended"
)

// Final reports whether a run in this phase never changes again.
func (p Phase) Final() bool {
	return p == PhaseSucceeded || p == PhaseFailed
}

// Dataset names a feature view and the window of days that is trained on.
type Dataset struct {
	View string    `json:"view"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Resources are what each pod of a run asks for.
type Resources struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
	GPUs   int    `json:"gpus,omitempty"`
	Spot   bool   `json:"spot,omitempty"`
}

// Spec is what the person who writes a run wants.
type Spec struct {
	Model      string    `json:"model"`
	Image      string    `json:"image"`
	Dataset    Dataset   `json:"dataset"`
	Resources  Resources `json:"resources"`
	Checkpoint string    `json:"checkpoint,omitempty"`
	Suspend    bool      `json:"suspend,omitempty"`
	MaxTrials  int       `json:"maxTrials,omitempty"`
}

// Status is what the operator has seen so far.
type Status struct {
	Phase   Phase     `json:"phase"`
	Started time.Time `json:"startTime,omitempty"`
	Failed  int       `json:"failed"`
	Message string    `json:"message,omitempty"`
}

// TrainingRun is the resource itself.
type TrainingRun struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Spec      Spec   `json:"spec"`
	Status    Status `json:"status"`
}

type fieldError struct {
	field, problem string
}

func (e fieldError) Error() string {
	return fmt.Sprintf("spec.%s: %s", e.field, e.problem)
}

// Validate returns everything that is wrong with a spec, not merely the first thing.
func (s Spec) Validate() []error {
	var problems []error
	if s.Model == "" {
		problems = append(problems, fieldError{"model", "must be given"})
	}
	if !s.Dataset.From.Before(s.Dataset.To) {
		problems = append(problems, fieldError{"dataset", "the training window is empty"})
	}
	if s.Resources.Spot && s.Checkpoint == "" {
		problems = append(problems, fieldError{"checkpoint", "needed on spot nodes"})
	}
	return problems
}
