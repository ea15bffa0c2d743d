package bus

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"

	"github.com/nats-io/nats.go"
)

// readReplay returns the subjects of a replay up to its end.
func readReplay(t *testing.T, sub *nats.Subscription) (subjects []string) {
	t.Helper()
	for {
		m, err := sub.NextMsg(ledgetest.Timeout)
		if err != nil {
			t.Fatalf("after %d messages: %v", len(subjects), err)
		}
		if strings.HasSuffix(m.Subject, ".end") {
			return subjects
		}
		if m.Header.Get("ce-type") == "" || m.Header.Get("Nats-Sequence") == "" || m.Header.Get("Ledge-Chain") == "" {
			t.Errorf("%s has the headers %v", m.Subject, m.Header)
		}
		subjects = append(subjects, m.Subject)
	}
}

// TestReplay replays changes of devices for an auditor. Viewers hear none of it, subscriptions send nothing again, and Ctrl-C stops it.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := ledgetest.StartSecured(t)
	operator, admin := s.Tokens[domain.Operator], s.Tokens[domain.Admin]
	const subscription = `[{"apiVersion":"v2","subscription":{"name":"late","receiver":"me","adminState":"UNLOCKED",
		"categories":["DEVICE_CHANGED"],"channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"late"}]}}]`
	notifications := s.Notifications + "/api/v2"
	text := fmt.Sprintf(subscription, porttest.Hold(t))
	if a := s.Send(operator, http.MethodPost, notifications+"/subscription", "application/json", text); a.Status != http.StatusMultiStatus {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.Send(operator, http.MethodPost, s.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary("cam", 5))
	transmissions := func() string {
		return s.Send(operator, http.MethodGet, notifications+"/transmission/all?limit=1", "", "").Body
	}
	ledgetest.Until(t, "the changes to be sent", func() bool { return strings.Contains(transmissions(), `"totalCount":5`) })
	subscribe := func(role domain.Role, o ...nats.Option) (*nats.Subscription, error) {
		nc, err := s.ConnectNATS(t, s.Tokens[role], o...)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := nc.SubscribeSync("replay.>")
		if err == nil {
			err = nc.Flush()
		}
		if err == nil {
			err = nc.LastError()
		}
		return sub, err
	}
	if _, err := subscribe(domain.Viewer, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})); err == nil ||
		!strings.Contains(err.Error(), "permissions violation") {
		t.Errorf("a viewer subscribes: %v", err)
	}
	sub, err := subscribe(domain.Auditor)
	if err != nil {
		t.Fatal(err)
	}
	replay := func(args ...string) (stdout, stderr string, code int) {
		return ledgetest.Run(t, append([]string{"replay", "--data-dir", s.Dir}, args...)...)
	}
	out, stderr, code := replay("--speed", "max", "--subject", "ledge.event.device.*.added", "--id", "cams")
	if code != exit.OK || !strings.Contains(out, " messages on replay.cams.>") || !strings.Contains(stderr, "replay on replay.cams.>") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
	got := strings.Join(readReplay(t, sub), " ")
	if strings.Count(got, "replay.cams.ledge.event.device.cam-") != 5 || strings.Contains(got, "updated") {
		t.Errorf("got %s", got)
	}
	path := s.Metadata + "/api/v2/ledger/replay"
	a := s.Send(admin, http.MethodPost, path+"?from=1&to=2&speed=max", "", "")
	if a.Status != http.StatusAccepted || len(readReplay(t, sub)) != 2 {
		t.Errorf("over HTTP: %d %s", a.Status, a.Body)
	}
	stopReplay(t, s, sub)
	if a := transmissions(); !strings.Contains(a, `"totalCount":5`) {
		t.Errorf("after the replays: %s", a)
	}
	if _, stderr, code := replay("--from", "2", "--to", "1"); code != exit.Usage || !strings.Contains(stderr, "to: is before from") {
		t.Errorf("%d %s", code, stderr)
	}
	s.Stop()
	if _, stderr, code := replay(); code != exit.Usage || !strings.Contains(stderr, "needs a running one") {
		t.Errorf("stopped: %d %s", code, stderr)
	}
}

// stopReplay interrupts a replay that waits for its pace.
func stopReplay(t *testing.T, s *ledgetest.Secured, sub *nats.Subscription) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	slow := exec.CommandContext(ctx, ledgetest.Binary, "replay", "--speed", "1e-9", "--id", "slow", "--data-dir", s.Dir)
	var said strings.Builder
	slow.Stderr = &said
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.NextMsg(time.Minute); err != nil || !strings.HasPrefix(m.Subject, "replay.slow.ledge.") {
		t.Fatalf("%v %v", m, err)
	}
	_ = slow.Process.Signal(os.Interrupt)
	if err := slow.Wait(); err == nil || !strings.Contains(said.String(), "the replay is stopped") {
		t.Errorf("after Ctrl-C: %v %s", err, &said)
	}
	ledgetest.Until(t, "it to be stopped", func() bool {
		a := s.Send(s.Tokens[domain.Admin], http.MethodGet, s.Metadata+"/api/v2/ledger/replay/id/slow", "", "")
		return strings.Contains(a.Body, `"state":"stopped"`)
	})
}
