package operator

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"
)

// Cluster is the part of the Kubernetes API that the operator needs.
type Cluster interface {
	Jobs(ctx context.Context, namespace, run string) ([]Job, error)
	CreateJob(ctx context.Context, job Job) error
	DeleteJob(ctx context.Context, namespace, name string) error
	SaveStatus(ctx context.Context, run TrainingRun) error
}

// Job is one trial of a run.
type Job struct {
	Namespace, Name, Run string
	Succeeded, Failed    bool
}

// Reconciler brings the cluster a step nearer to what a run asks for.
type Reconciler struct {
	Cluster Cluster
	// MaxFailed is how many trials may fail before the run does.
	MaxFailed int
	Now       func() time.Time
}

// Requeue says when to look at a run again; zero means: when something changes.
type Requeue time.Duration

// JobName is the same for the same trial of the same run, however often it is computed. A second
// CreateJob after a crash therefore fails with "already exists" instead of starting a twin.
func JobName(run TrainingRun, trial int) string {
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s/%s/%s", run.Namespace, run.Name, run.Spec.Image)
	return fmt.Sprintf("%s-%03d-%08x", run.Name, trial, sum.Sum32())
}

// Reconcile is called whenever a run or one of its Jobs has changed.
func (r *Reconciler) Reconcile(ctx context.Context, run TrainingRun) (Requeue, error) {
	if run.Status.Phase.Final() {
		return 0, nil
	}
	if problems := run.Spec.Validate(); len(problems) > 0 {
		return 0, r.finish(ctx, run, PhaseFailed, problems[0].Error())
	}
	jobs, err := r.Cluster.Jobs(ctx, run.Namespace, run.Name)
	if err != nil {
		return 0, fmt.Errorf("listing the jobs of %s: %w", run.Name, err)
	}
	if run.Spec.Suspend {
		return 0, r.suspend(ctx, run, jobs)
	}
	succeeded, failed := count(jobs)
	run.Status.Failed = failed
	switch {
	case failed > r.MaxFailed:
		return 0, r.finish(ctx, run, PhaseFailed, fmt.Sprintf("%d trials failed", failed))
	case succeeded > 0 && succeeded+failed >= run.Spec.MaxTrials:
		return 0, r.finish(ctx, run, PhaseSucceeded, "")
	case len(jobs) < run.Spec.MaxTrials || len(jobs) == 0:
		job := Job{Namespace: run.Namespace, Name: JobName(run, len(jobs)), Run: run.Name}
		if err := r.Cluster.CreateJob(ctx, job); err != nil {
			return Requeue(30 * time.Second), err
		}
	}
	run.Status.Phase = PhaseRunning
	return 0, r.Cluster.SaveStatus(ctx, run)
}

// suspend deletes the Jobs that are still running and keeps the finished ones with their results.
func (r *Reconciler) suspend(ctx context.Context, run TrainingRun, jobs []Job) error {
	for _, job := range jobs {
		if job.Succeeded || job.Failed {
			continue
		}
		if err := r.Cluster.DeleteJob(ctx, job.Namespace, job.Name); err != nil {
			return err
		}
	}
	run.Status.Phase = PhaseSuspended
	return r.Cluster.SaveStatus(ctx, run)
}

func (r *Reconciler) finish(ctx context.Context, run TrainingRun, phase Phase, why string) error {
	run.Status.Phase = phase
	run.Status.Message = why
	return r.Cluster.SaveStatus(ctx, run)
}

func count(jobs []Job) (succeeded, failed int) {
	for _, job := range jobs {
		if job.Succeeded {
			succeeded++
		}
		if job.Failed {
			failed++
		}
	}
	return succeeded, failed
}
