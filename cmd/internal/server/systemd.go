package server

import (
	"context"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ledge/cmd/internal/loop"
	"ledge/handlers"
)

// tellSystemd tells systemd that the program is ready, and, as long as it answers requests, that it is alive: a unit of Type=notify with
// WatchdogSec restarts one that does not. Without systemd it does nothing.
func tellSystemd(p *Server) {
	notifySystemd(p, daemon.SdNotifyReady)
	p.onClose(func() { notifySystemd(p, daemon.SdNotifyStopping) })
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		p.Logger.Warn("systemd's watchdog is not told that this program is alive; correct WatchdogSec in the unit", "error", err)
	}
	if every == 0 {
		return
	}
	p.inBackground(func(ctx context.Context) error {
		return loop.Every(ctx, every/2, func(context.Context) {
			if answersPings(p, every/2) {
				notifySystemd(p, daemon.SdNotifyWatchdog)
			}
		})
	})
}

func notifySystemd(p *Server, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		p.Logger.Warn("systemd cannot be told", "state", state, "error", err)
	}
}

// answersPings reports whether each service answers a ping in time.
func answersPings(p *Server, within time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, h := range p.servers.handlers() {
			ping, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "/api/"+handlers.V2+"/ping", nil) // cannot fail
			ping.RemoteAddr = "127.0.0.1:0"
			h.ServeHTTP(noWriter{}, ping)
		}
	}()
	select {
	case <-done:
		return true
	case <-time.After(within):
		return false
	}
}

// noWriter discards the answer to a request of the program's own.
type noWriter struct{}

func (noWriter) Header() http.Header { return http.Header{} }

func (noWriter) Write(b []byte) (int, error) { return len(b), nil }

func (noWriter) WriteHeader(int) {}
