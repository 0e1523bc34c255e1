// Command oracle is kube-scheduler's own plugins, asked about one made-up cluster after the other.
//
// It reads questions from stdin, one JSON object a line, and writes one answer a line, in the same order. There is no
// API server and nothing to wait for: nodes and pods go straight into a scheduler's cache.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// question is a cluster, a pod, and the configuration whose first profile is to place it. An unknown field is an error.
type question struct {
	ID     string          `json:"id"`
	Config json.RawMessage `json:"config"`
	Nodes  []*v1.Node      `json:"nodes"`
	Pods   []*v1.Pod       `json:"pods"`
	Pod    *v1.Pod         `json:"pod"`
}

// failure answers what cannot be asked.
type failure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

func main() {
	klog.SetLogger(logr.Discard())
	if err := serve(os.Stdin, os.Stdout, &stock{}); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// serve writes an answer as soon as it has it, so that whoever asks one at a time does not wait for ever.
func serve(in io.Reader, out io.Writer, schedulers *stock) error {
	lines, encoder := bufio.NewReaderSize(in, 1<<20), json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, ended := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := encoder.Encode(answerTo(line, schedulers)); err != nil {
				return err
			}
		}
		if ended == io.EOF {
			return nil
		}
		if ended != nil {
			return ended
		}
	}
}

// store writes all amounts as an API server would: of some others, such as "1.5Gi", upstream's sums are wrong.
func (q *question) store() error {
	written, err := json.Marshal(q)
	if err != nil {
		return err
	}
	stored := question{}
	err = json.Unmarshal(written, &stored)
	*q = stored
	return err
}

func answerTo(line []byte, schedulers *stock) (told any) {
	asked := question{}
	defer func() {
		if reason := recover(); reason != nil {
			schedulers.clear() // one that panicked is in no known state
			told = failure{asked.ID, fmt.Sprintf("panic: %v", reason)}
		}
	}()
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return failure{asked.ID, err.Error()}
	}
	if asked.Pod == nil {
		return failure{asked.ID, "there is no pod to place"}
	}
	if err := asked.store(); err != nil {
		return failure{asked.ID, err.Error()}
	}
	scheduler, err := schedulers.of(asked.Config)
	if err != nil {
		return failure{asked.ID, err.Error()}
	}
	answer, err := scheduler.answer(&asked)
	if err != nil {
		schedulers.clear()
		return failure{asked.ID, err.Error()}
	}
	return answer
}
