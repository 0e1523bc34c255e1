package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
)

const mostKept = 32

// stock keeps a scheduler for each configuration that was asked about lately: one costs a few questions to make.
type stock struct{ kept map[string]*oneProfile }

func (s *stock) of(document []byte) (*oneProfile, error) {
	if known := s.kept[string(document)]; known != nil {
		return known, nil
	}
	if s.kept == nil || len(s.kept) >= mostKept {
		s.clear()
	}
	made, err := newOneProfile(document)
	if err == nil {
		s.kept[string(document)] = made
	}
	return made, err
}

func (s *stock) clear() {
	for _, each := range s.kept {
		each.stop()
	}
	s.kept = map[string]*oneProfile{}
}

// oneProfile is a real scheduler whose informers never start.
//
// scorers are instances of our own, with the profile's args: the framework gives no score from before normalizing.
type oneProfile struct {
	ctx       context.Context
	stop      context.CancelFunc
	scheduler *scheduler.Scheduler
	framework framework.Framework
	snapshot  *cache.Snapshot
	weights   map[string]int64
	scorers   map[string]fwk.ScorePlugin
}

func newOneProfile(document []byte) (*oneProfile, error) {
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(document, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	read, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("config is a %T", object)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(read); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	client := &fake.Clientset{}
	made, err := scheduler.New(ctx, client, informers.NewSharedInformerFactory(client, 0), nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithProfiles(read.Profiles...), scheduler.WithParallelism(read.Parallelism))
	if err != nil {
		stop()
		return nil, fmt.Errorf("config: %w", err)
	}
	profile := made.Profiles[read.Profiles[0].SchedulerName]
	p := &oneProfile{
		ctx: ctx, stop: stop, scheduler: made, framework: profile,
		snapshot: profile.SnapshotSharedLister().(*cache.Snapshot),
		weights:  map[string]int64{}, scorers: map[string]fwk.ScorePlugin{},
	}
	if err := p.makeScorers(read.Profiles[0].PluginConfig); err != nil {
		stop()
		return nil, err
	}
	return p, nil
}

func (p *oneProfile) makeScorers(given []config.PluginConfig) error {
	args := map[string]runtime.Object{}
	for _, each := range given {
		args[each.Name] = each.Args
	}
	for _, enabled := range p.framework.ListPlugins().Score.Enabled {
		plugin, err := plugins.NewInTreeRegistry()[enabled.Name](p.ctx, args[enabled.Name], p.framework)
		if err != nil {
			return fmt.Errorf("%s: %w", enabled.Name, err)
		}
		p.weights[enabled.Name], p.scorers[enabled.Name] = int64(enabled.Weight), plugin.(fwk.ScorePlugin)
	}
	return nil
}
