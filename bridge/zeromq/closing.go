package zeromq

import (
	"fmt"
	"time"

	"github.com/go-zeromq/zmq4"
)

// unbind frees the port. Nothing is published and nobody let in any more.
func (p *Publisher) unbind() {
	p.unbindOnce.Do(func() {
		close(p.unbound)
		_ = p.tcp.Close()
		p.limits.closeHandshakes(p)
	})
}

// Close frees the port at once, then waits at most the given time until each subscriber has
// received what was published for it and has closed its end. Whatever remains is dropped and
// counted, and an error says how much. When Close returns, all connections are closed. Later
// calls return what the first one returned.
func (p *Publisher) Close(linger time.Duration) error {
	p.closeOnce.Do(func() { p.closeErr = p.shut(linger) })
	return p.closeErr
}

func (p *Publisher) shut(linger time.Duration) error {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	p.unbind()
	before := p.drops.Load()

	overdue := p.flush(timer.C)
	if !overdue {
		overdue = p.drain(timer.C)
	}
	if overdue {
		for _, s := range p.connected() {
			s.end(errLinger)
		}
	}
	p.running.Wait()
	_ = p.socket.Close() // its connections are closed already
	if lost := p.drops.Load() - before; lost > 0 {
		return fmt.Errorf("zeromq: close port %d: %d messages were not sent within %v", p.port, lost, linger)
	}
	return nil
}

// flush waits until zmq4 has distributed everything, and ends its writer. When time is up the
// rest is dropped, which takes a moment. It reports whether time was up.
func (p *Publisher) flush(timeUp <-chan time.Time) bool {
	p.sendFence()
	select {
	case <-p.meter.fenced:
		return false
	case <-timeUp:
		p.hurry.Store(true)
		<-p.meter.fenced
		return true
	}
}

// sendFence waits for those who publish right now, so that nothing comes after the fence. zmq4
// returns no errors here.
func (p *Publisher) sendFence() {
	p.sending.Lock()
	defer p.sending.Unlock()
	_ = p.socket.SendMulti(zmq4.NewMsg(tagged(everybody, "")))
}

// drain waits until all subscribers have gone, after each got what is queued for it. It reports
// whether time was up.
func (p *Publisher) drain(timeUp <-chan time.Time) bool {
	for _, s := range p.connected() {
		s.queue.finish()
	}
	gone := make(chan struct{})
	go func() {
		p.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return false
	case <-timeUp:
		return true
	}
}
