package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// answer is the whole truth about one question.
//
//	prefilter       what PreFilter came to; narrowed: the nodes that it named, null if all remain
//	feasible        nodes that pass Filter, refused: the others and why; both of every node, also of those that
//	                PreFilter left out, and empty if it refused the pod
//	scores          of the nodes that one attempt would score; totals: their weighted sums, best: who has the highest
//	everyNode       the scores that all nodes would get if each fitted
//	chosen          where one whole attempt puts the pod; message: or why it puts it nowhere
type answer struct {
	ID        string             `json:"id"`
	PreFilter verdict            `json:"prefilter"`
	Narrowed  []string           `json:"narrowed"`
	Feasible  []string           `json:"feasible"`
	Refused   map[string]verdict `json:"refused"`
	Scores    map[string]scored  `json:"scores"`
	EveryNode map[string]scored  `json:"everyNode"`
	Totals    map[string]int64   `json:"totals"`
	Best      []string           `json:"best"`
	Chosen    string             `json:"chosen"`
	Message   string             `json:"message"`
}

type verdict struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

// scored is one plugin's scores, before and after normalizing. skipped: PreScore said that it has none.
type scored struct {
	Skipped bool             `json:"skipped"`
	Raw     map[string]int64 `json:"raw"`
	Score   map[string]int64 `json:"score"`
}

func verdictOf(status *fwk.Status) verdict {
	if status.IsSuccess() {
		return verdict{Code: fwk.Success.String(), Reasons: []string{}}
	}
	return verdict{status.Code().String(), status.Plugin(), status.Reasons()}
}

func (p *oneProfile) answer(asked *question) (*answer, error) {
	if err := p.fill(asked); err != nil {
		return nil, err
	}
	told, err := p.ask(asked.Pod)
	if err := errors.Join(err, p.empty(asked)); err != nil {
		return nil, err
	}
	told.ID = asked.ID
	return told, nil
}

func (p *oneProfile) fill(asked *question) error {
	log := klog.FromContext(p.ctx)
	for _, node := range asked.Nodes {
		p.scheduler.Cache.AddNode(log, node)
	}
	for _, pod := range asked.Pods {
		if err := p.scheduler.Cache.AddPod(log, pod); err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
	}
	return p.scheduler.Cache.UpdateSnapshot(log, p.snapshot)
}

func (p *oneProfile) empty(asked *question) error {
	log, errs := klog.FromContext(p.ctx), []error{}
	for _, pod := range asked.Pods {
		errs = append(errs, p.scheduler.Cache.RemovePod(log, pod))
	}
	for _, node := range asked.Nodes {
		errs = append(errs, p.scheduler.Cache.RemoveNode(log, node))
	}
	return errors.Join(errs...)
}

func (p *oneProfile) ask(pod *v1.Pod) (*answer, error) {
	listed, err := p.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	nodes := slices.SortedFunc(slices.Values(listed), func(a, b fwk.NodeInfo) int {
		return cmp.Compare(a.Node().Name, b.Node().Name)
	})
	told := &answer{
		Feasible: []string{}, Refused: map[string]verdict{}, Best: []string{},
		Scores: map[string]scored{}, EveryNode: map[string]scored{}, Totals: map[string]int64{},
	}
	state := framework.NewCycleState()
	if fitting := p.filter(told, state, pod, nodes); len(fitting) > 0 {
		if err := p.score(told, state, pod, fitting); err != nil {
			return nil, err
		}
	}
	if told.EveryNode, err = p.scoreEveryNode(pod, nodes); err != nil {
		return nil, err
	}
	return told, p.attempt(told, pod)
}

// filter returns the nodes that an attempt would go on with.
func (p *oneProfile) filter(told *answer, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) []fwk.NodeInfo {
	narrowed, status, _ := p.framework.RunPreFilterPlugins(p.ctx, state, pod)
	told.PreFilter = verdictOf(status)
	if !status.IsSuccess() {
		return nil
	}
	if !narrowed.AllNodes() {
		told.Narrowed = slices.Sorted(maps.Keys(narrowed.NodeNames))
	}
	fitting := []fwk.NodeInfo{}
	for _, node := range nodes {
		name := node.Node().Name
		if status := p.framework.RunFilterPlugins(p.ctx, state, pod, node); !status.IsSuccess() {
			told.Refused[name] = verdictOf(status)
			continue
		}
		told.Feasible = append(told.Feasible, name)
		if narrowed.AllNodes() || narrowed.NodeNames.Has(name) {
			fitting = append(fitting, node)
		}
	}
	return fitting
}

// score takes totals and normalized scores from the framework, so that the weights are those that it uses.
func (p *oneProfile) score(told *answer, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) error {
	var err error
	if told.Scores, err = p.scoresOf(state, pod, nodes); err != nil {
		return err
	}
	totals, status := p.framework.RunScorePlugins(p.ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return status.AsError()
	}
	highest := slices.MaxFunc(totals, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) })
	for _, node := range totals {
		told.Totals[node.Name] = node.TotalScore
		if node.TotalScore == highest.TotalScore {
			told.Best = append(told.Best, node.Name)
		}
		for _, weighted := range node.Scores {
			if got := told.Scores[weighted.Name].Score[node.Name] * p.weights[weighted.Name]; got != weighted.Score {
				return fmt.Errorf("%s: asked alone %d, in the framework %d", weighted.Name, got, weighted.Score)
			}
		}
	}
	return nil
}

func (p *oneProfile) scoreEveryNode(pod *v1.Pod, nodes []fwk.NodeInfo) (map[string]scored, error) {
	state := framework.NewCycleState()
	if _, status, _ := p.framework.RunPreFilterPlugins(p.ctx, state, pod); !status.IsSuccess() || len(nodes) == 0 {
		return map[string]scored{}, nil
	}
	return p.scoresOf(state, pod, nodes)
}

func (p *oneProfile) scoresOf(state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (map[string]scored, error) {
	if status := p.framework.RunPreScorePlugins(p.ctx, state, pod, nodes); !status.IsSuccess() {
		return nil, status.AsError()
	}
	all := map[string]scored{}
	for name, plugin := range p.scorers {
		if state.GetSkipScorePlugins().Has(name) {
			all[name] = scored{Skipped: true}
			continue
		}
		of, err := p.scoresOfOne(plugin, state, pod, nodes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = of
	}
	return all, nil
}

func (p *oneProfile) scoresOfOne(
	plugin fwk.ScorePlugin, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (scored, error) {
	of := scored{Raw: map[string]int64{}, Score: map[string]int64{}}
	list := fwk.NodeScoreList{}
	for _, node := range nodes {
		raw, status := plugin.Score(p.ctx, state, pod, node)
		if !status.IsSuccess() {
			return of, status.AsError()
		}
		of.Raw[node.Node().Name] = raw
		list = append(list, fwk.NodeScore{Name: node.Node().Name, Score: raw})
	}
	if extensions := plugin.ScoreExtensions(); extensions != nil {
		if status := extensions.NormalizeScore(p.ctx, state, pod, list); !status.IsSuccess() {
			return of, status.AsError()
		}
	}
	for _, each := range list {
		of.Score[each.Name] = each.Score
	}
	return of, nil
}

// attempt is kube-scheduler's own, up to the choice of a node.
func (p *oneProfile) attempt(told *answer, pod *v1.Pod) error {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return err
	}
	queued := &framework.QueuedPodInfo{PodInfo: info}
	result, err := p.scheduler.SchedulePod(p.ctx, p.framework, framework.NewCycleState(), queued)
	if err != nil {
		told.Message = err.Error()
	}
	told.Chosen = result.SuggestedHost
	return nil
}
