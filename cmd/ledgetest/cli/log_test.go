package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestLogEscapesUnseen holds that no character of an event steers the terminal that `ledge log --json` prints to.
func TestLogEscapesUnseen(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("cam")
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"cam","description":"a\u009b31m\u202eb\u007fc"}}]`, http.StatusOK)
	out, errs, code := ledgetest.Run(t, "log", "--json", "--data-dir", p.Dir)
	if code != exit.OK || strings.ContainsAny(out, "\u009b\u202e\u007f") || !strings.Contains(out, `a\u009b31m\u202eb\u007fc`) {
		t.Errorf("%d %s %q", code, errs, out)
	}
}

// TestDocumentedAudit asks who locked a device with the command of docs/audit.md, and in the console's ledger.
func TestDocumentedAudit(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	for _, name := range []string{"cam-1", "cam-2"} {
		p.AddDevice(name)
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"`+name+`","adminState":"LOCKED"}}]`, http.StatusOK)
	}
	_, rest, _ := strings.Cut(ledgetest.MustRead(t, "../../../docs/audit.md"), "Who locked `cam-1` on Tuesday")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	command, _, ok := strings.Cut(rest, "\n```")
	if !ok || !strings.Contains(command, "2026-11-24") || !strings.Contains(command, "2026-11-25") {
		t.Fatalf("docs/audit.md has no command: %q", command)
	}
	sh := ledgetest.NewShell(p, t)
	run := func(since, until time.Time) string {
		return sh.Run(strings.NewReplacer("2026-11-24", since.Format(time.DateOnly), "2026-11-25", until.Format(time.DateOnly), "ledge log", "bin/ledge log").Replace(command))
	}
	today := time.Now()
	const want = "device cam-1 updated  by anonymous@127.0.0.1 from 127.0.0.1:"
	if out := run(today, today.AddDate(0, 0, 2)); strings.Count(out, "\n") != 2 || !strings.Contains(out, want) || !strings.Contains(out, "  adminState: UNLOCKED → LOCKED\n") {
		t.Errorf("%s prints\n%s", command, out)
	}
	if out := run(today.AddDate(0, 0, -2), today.AddDate(0, 0, -1)); out != "" {
		t.Errorf("two days before it prints\n%s", out)
	}
	p.AddConsoleUser(t, domain.Auditor)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-auditor", ledgetest.ConsolePassword)
	if got := c.Get("/ledger?kind=device&name=cam-1"); !strings.Contains(got.Text, "adminState: UNLOCKED → LOCKED<") {
		t.Errorf("the console's ledger does not show the change:\n%s", got.Text)
	}
}
