package store

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRefusedWithinAMessage refuses a client while the server is in the middle of a message to it. The client gets that message, the reason
// and nothing else, wherever the server's writes begin and end.
func TestRefusedWithinAMessage(t *testing.T) {
	const before, message, after = "PONG\r\n", "HMSG ledge.x 1 12 17\r\nNATS/1.0\r\n\r\nMSG a\r\n", "MSG ledge.x 1 2\r\nhi\r\n"
	for at := range len(before) + len(message) {
		synctest.Test(t, func(t *testing.T) {
			v, client, inside := mustVisit(slog.New(slog.DiscardHandler))
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
			if text := <-got; text != want+fmt.Sprintf("-ERR 'maximum payload violation: 100000000 bytes, and a client of the tap port may send %d'\r\n", tapPayload) {
				t.Errorf("after %d bytes the client gets %q, want %q", at, text, want)
			}
			v.proxy.working.Wait()
		})
	}
}

// TestRefusedByASilentServer holds that a refusal does not wait for ever for the end of a message.
func TestRefusedByASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, client, inside := mustVisit(slog.New(slog.DiscardHandler))
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
