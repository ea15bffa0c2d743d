package zeromq

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// 10: everything may be called at the same time. The race detector judges; what arrives at a
// constant subscriber must be complete and in each publishing goroutine's order.
func TestRaces(t *testing.T) {
	p := MustListen(t, Options{})
	constant := MustJoin(t, p, "")
	const publishers, each = 4, 300
	var busy sync.WaitGroup
	for g := range publishers {
		busy.Go(func() {
			for i := range each {
				MustPublish(t, p, fmt.Sprint(g), fmt.Sprint(i))
			}
		})
	}
	for range 3 {
		busy.Go(func() {
			for i := range 20 {
				c := MustJoin(t, p, fmt.Sprint(i%publishers))
				p.Topics()
				p.Subscribers()
				p.Drops()
				c.Close()
			}
		})
	}
	next := map[string]int{}
	for range publishers * each {
		topic, body := constant.message()
		if body != fmt.Sprint(next[topic]) {
			t.Fatalf("publisher %s: got message %s, want %d", topic, body, next[topic])
		}
		next[topic]++
	}
	busy.Wait()
}

// 10: publishing and closing at the same time gives either a message or ErrClosed.
func TestCloseRaces(t *testing.T) {
	for range 10 {
		p := MustListen(t, Options{})
		c := MustJoin(t, p, "")
		sent := make(chan int, 2)
		for range cap(sent) {
			go func() {
				n := 0
				err := p.Publish("topic", []byte("body"))
				for ; err == nil; n++ {
					err = p.Publish("topic", []byte("body"))
				}
				if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				sent <- n
			}()
		}
		c.want("topic", "body")
		for range 2 {
			go p.Close(hang)
		}
		want := <-sent + <-sent
		got := 1
		for ; ; got++ {
			if _, _, err := c.readFrame(); err != nil {
				break
			}
			c.frame()
		}
		c.Close()
		within(t, "Close", func() { p.Close(time.Hour) })
		if got != want-int(p.Drops()) {
			t.Fatalf("got %d messages, want %d less %d drops", got, want, p.Drops())
		}
	}
}
