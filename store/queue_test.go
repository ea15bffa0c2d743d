package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"ledge/domain"
)

func submissionOf(ctx context.Context, requests, bytes int) *submission {
	return &submission{ctx: ctx, requests: make([]domain.Request, requests), bytes: bytes}
}

// A full queue refuses when the request is given up, and when it closes. Each refusal gives back what it has taken.
func TestQueueBounds(t *testing.T) {
	for _, c := range []struct {
		name            string
		requests, bytes int // of the one that has no room
	}{{"requests", 3, 1}, {"bytes", 2, 30}, {"larger than both bounds", 9, 90}} {
		t.Run(c.name, func(t *testing.T) {
			q := newQueue(4, 40)
			first := submissionOf(t.Context(), 2, 20)
			if err := q.put(first); err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithCancel(t.Context())
			cancel()
			if err := q.put(submissionOf(short, c.requests, c.bytes)); err == nil || !strings.Contains(err.Error(), "too many changes wait") {
				t.Errorf("got %v, want a refusal", err)
			}
			if err := q.put(submissionOf(short, 1, 1)); err != nil { // there is room for it
				t.Errorf("after a refusal: %v", err)
			}
			if !q.withdraw(first) || q.withdraw(first) || len(q.take(9)) != 1 {
				t.Error("a submission is not withdrawn once")
			}
			if err := q.put(submissionOf(t.Context(), c.requests, c.bytes)); err != nil { // the queue is empty
				t.Errorf("into an empty queue: %v", err)
			}
			refused := make(chan error, 1)
			go func() { refused <- q.put(submissionOf(t.Context(), 4, 40)) }()
			why := domain.Errorf(domain.Unavailable, "ledge is stopping")
			for end := time.Now().Add(time.Minute); q.requests.TryAcquire(0) && q.bytes.TryAcquire(0); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("it never waits for room")
				}
			}
			q.close(why)
			if err := <-refused; err != error(why) {
				t.Errorf("got %v, want that the queue is closed", err)
			}
			if err := q.put(submissionOf(t.Context(), 1, 1)); err != error(why) {
				t.Errorf("got %v, want that the queue is closed", err)
			}
		})
	}
}
