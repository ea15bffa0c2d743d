package store

import (
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// mustVisit joins two ends of a test with a client's connection and the one in the server.
func mustVisit(log *slog.Logger) (v *session, client, inside net.Conn) {
	client, outside := net.Pipe()
	ours, inside := net.Pipe()
	d := newProxy(Options{Logger: log, TapConnections: 4})
	v = newSession(d, outside, ours, "10.0.0.1")
	d.sessions[v] = struct{}{}
	d.count[arrived]++
	d.working.Add(2)
	go v.answers()
	go v.asks()
	return v, client, inside
}

// TestTapThatReadsNothing holds that a tap is cut off when it has read nothing for a while, and that it is not heard meanwhile.
func TestTapThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		v, client, inside := mustVisit(slog.New(slog.NewTextHandler(&out, nil)))
		var heard atomic.Int64
		go func() {
			b := make([]byte, 4<<10)
			for {
				n, err := inside.Read(b)
				if heard.Add(int64(n)); err != nil {
					return
				}
			}
		}()
		_, _ = client.Write([]byte("CONNECT {}\r\n"))
		synctest.Wait()
		_, _ = inside.Write([]byte("MSG x 1 0\r\n\r\n")) // the client does not read it
		synctest.Wait()
		before := heard.Load()
		_ = client.SetWriteDeadline(time.Now().Add(tapWriteWait / 2))
		for range 3 {
			_, _ = client.Write([]byte("PING\r\n"))
		}
		if synctest.Wait(); heard.Load() > before+int64(len("PING\r\n")) {
			t.Errorf("%d bytes are heard of a tap that does not read", heard.Load()-before)
		}
		began := time.Now()
		<-v.gone
		v.proxy.working.Wait()
		if waited := time.Since(began); waited > tapWriteWait || !strings.Contains(out.String(), "tap cut off: it reads nothing") {
			t.Errorf("after %s: %s", waited, &out)
		}
	})
}

// TestTapPace holds that a client may say so much at once and then so much a second.
func TestTapPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for class, rate := range map[class]int{ofTaps: tapRate, ofHistory: historyRate} {
			p, began := newPace(class), time.Now()
			burst := int(paceBurst.Seconds()) * rate
			if p.wait(burst, nil); time.Since(began) != 0 {
				t.Errorf("what may be said at once takes %s", time.Since(began))
			}
			if p.wait(10*rate, nil); time.Since(began) != 10*time.Second {
				t.Errorf("what may be said in ten seconds takes %s", time.Since(began))
			}
			gone := make(chan struct{})
			close(gone)
			if p.wait(1<<30, gone); time.Since(began) != 10*time.Second {
				t.Error("waits for a client that is gone")
			}
		}
	})
}

func TestTapDescriptors(t *testing.T) {
	for descriptors, want := range map[int][classes]int{
		0: {64, 64, 16}, 112: {34, 64, 14}, 2484: {64, 64, 16}, 40: {10, 25, 5}, 4: {1, 2, 1},
	} {
		if got := shares(64, descriptors); got != want {
			t.Errorf("%d descriptors: got %v, want %v", descriptors, got, want)
		}
	}
}
