package tap

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// mustSession joins two ends of a test with a client's connection and the one in the server.
func mustSession(log *slog.Logger) (v *session, client, inside net.Conn) {
	client, outside := net.Pipe()
	ours, inside := net.Pipe()
	d := newProxy(Options{Logger: log, Connections: 4})
	v = newSession(d, outside, ours, "10.0.0.1")
	d.sessions[v] = struct{}{}
	d.count[arrived]++
	d.working.Add(2)
	go v.toClient()
	go v.fromClient()
	return v, client, inside
}

// TestTapThatReadsNothing holds that a tap is cut off when it has read nothing for a while, and that it is not heard meanwhile.
func TestTapThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		v, client, inside := mustSession(slog.New(slog.NewTextHandler(&out, nil)))
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
		_ = client.SetWriteDeadline(time.Now().Add(writeWait / 2))
		for range 3 {
			_, _ = client.Write([]byte("PING\r\n"))
		}
		if synctest.Wait(); heard.Load() > before+int64(len("PING\r\n")) {
			t.Errorf("%d bytes are heard of a tap that does not read", heard.Load()-before)
		}
		began := time.Now()
		<-v.gone
		v.proxy.working.Wait()
		if waited := time.Since(began); waited > writeWait || !strings.Contains(out.String(), "tap cut off: it reads nothing") {
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

// TestRefusedWithinAMessage refuses a client while the server is in the middle of a message to it. The client gets that message, the reason
// and nothing else, wherever the server's writes begin and end.
func TestRefusedWithinAMessage(t *testing.T) {
	const before, message, after = "PONG\r\n", "HMSG ledge.x 1 12 17\r\nNATS/1.0\r\n\r\nMSG a\r\n", "MSG ledge.x 1 2\r\nhi\r\n"
	for at := range len(before) + len(message) {
		synctest.Test(t, func(t *testing.T) {
			v, client, inside := mustSession(slog.New(slog.DiscardHandler))
			go func() { _, _ = io.Copy(io.Discard, inside) }()
			got := make(chan string)
			go func() { b, _ := io.ReadAll(client); got <- string(b) }()
			_, _ = client.Write([]byte("CONNECT {}\r\n"))
			all := before + message + after
			_, _ = inside.Write([]byte(all[:at]))
			synctest.Wait()
			_, _ = client.Write([]byte("PUB x 100000000\r\n"))
			synctest.Wait()
			_, _ = inside.Write([]byte(all[at:])) // fails if the client has left
			want := before + message
			if at <= len(before) {
				want = before
			}
			if at == 0 {
				want = ""
			}
			if text := <-got; text != want+fmt.Sprintf("-ERR 'maximum payload violation: 100000000 bytes, and a client of the tap port may send %d'\r\n", clientPayload) {
				t.Errorf("after %d bytes the client gets %q, want %q", at, text, want)
			}
			v.proxy.working.Wait()
		})
	}
}

// TestRefusedByASilentServer holds that a refusal does not wait for ever for the end of a message.
func TestRefusedByASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, client, inside := mustSession(slog.New(slog.DiscardHandler))
		go func() { _, _ = io.Copy(io.Discard, inside) }()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		_, _ = client.Write([]byte("CONNECT {}\r\n"))
		_, _ = inside.Write([]byte("MSG ledge.x 1 100\r\nhalf of it"))
		synctest.Wait()
		_, _ = client.Write([]byte("PUB x 100000000\r\n"))
		<-v.gone
		v.proxy.working.Wait()
	})
}

// TestTapRefusalsLogged holds that the log names each address once a minute, and only so many addresses.
func TestTapRefusalsLogged(t *testing.T) {
	r, now, logged := newRefusals(), time.Unix(1e9, 0), 0
	for range 20 {
		for _, client := range []string{"10.0.0.1", "10.0.0.2"} {
			if r.add(byRole, client, now) {
				logged++
			}
		}
	}
	if logged != 2 || r.counts[byRole] != 40 {
		t.Errorf("%d of %d refusals of two clients are logged in a minute, want 2 of 40", logged, r.counts[byRole])
	}
	for i := range 2 * refusalsLogged {
		if r.add(byRole, strings.Repeat("x", i), now) {
			logged++
		}
	}
	if logged != refusalsLogged {
		t.Errorf("%d clients are logged in a minute, want %d", logged, refusalsLogged)
	}
	if !r.add(byRole, "10.0.0.1", now.Add(refusalLogged)) || len(r.logged) != 1 {
		t.Errorf("after a minute %d clients are remembered, want 1 that is logged", len(r.logged))
	}
}
