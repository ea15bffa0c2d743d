package zeromq

import "runtime"

// turns bounds how many computations of one kind run at once. It has an element for each.
type turns chan struct{}

// newTurns leaves a processor for others, where there are two.
func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)-1)) }

// do waits for its turn and computes.
func (t turns) do(compute func()) {
	t <- struct{}{}
	defer func() { <-t }()
	compute()
}
