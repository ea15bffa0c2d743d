package cli

import (
	"fmt"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

func TestSuggestions(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"sreve"}, "did you mean serve?"},
		{[]string{"user", "ad"}, "did you mean add?"},
		{[]string{"config", "shw"}, `unknown command "shw" for "ledge config"`},
		{[]string{"token", "add"}, "did you mean create?"},
		{[]string{"user", "delet"}, "did you mean remove?"},
		{[]string{"token", "frobnicate"}, "its commands are create, list, revoke"},
		{[]string{"help", "verfy"}, "did you mean verify?"},
		{[]string{"help", "user", "crate"}, "did you mean add?"},
		{[]string{"completion", "bsh"}, "did you mean bash?"},
		{[]string{"restore", "--data-dir", "new", "backup.tar"}, "restore has no default folder; write `ledge restore FILE DIR`; see"},
		{[]string{"restore", "backup.tar"}, "; write `ledge restore FILE DIR`; see"},
		{[]string{"salvage", "--to", "new"}, "; write `ledge salvage DIR`; see"},
		{[]string{"token", "create", "--name", "x"}, "; write `ledge token create NAME`; see"},
		{[]string{"secrets", "rekey", "--new-key-file", "x"}, "; write `ledge secrets rekey NEW`; see"},
		{[]string{"backup"}, "; write `ledge backup FILE`; see"},
		{[]string{"version", "now"}, `unknown command "now"`},
		{[]string{"token", "create", "--rol", "x"}, "did you mean --role?"},
		{[]string{"log", "--untli", "2h"}, "did you mean --until?"},
		{[]string{"serve", "--metadata-prot", "1"}, "did you mean --metadata-port?"},
		{[]string{"config", "--config", ledgetest.MustWriteFile(t, "c.yaml", "metadata: {prot: 1}")}, "did you mean metadata-port?"},
	} {
		if _, stderr, code := ledgetest.Run(t, tt.args...); code != exit.Usage || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit code %d, %q; want %q", tt.args, code, stderr, tt.says)
		}
	}
}

// Variables that are not settings stop nothing: one line names them, on the log of serve and on standard error of other commands.
func TestUnknownVariables(t *testing.T) {
	t.Setenv("LEDGE_METADATA_PROT", "1")
	t.Setenv("LEDGE_SMTP_HOST", "mail")
	t.Setenv("LEDGE_SERVICE_HOST", "10.0.0.1") // as Kubernetes sets it for a service named ledge
	t.Setenv("LEDGE_PORT_59881_TCP", "tcp://10.0.0.1:59881")
	want := []string{
		"LEDGE_METADATA_PROT (did you mean LEDGE_METADATA_PORT?), LEDGE_SMTP_HOST (it was removed: use smtp-server, ",
		"), LEDGE_PORT_59881_TCP, LEDGE_SERVICE_HOST; `ledge config` lists the settings\n",
	}
	out, stderr, code := ledgetest.Run(t, "config")
	if code != exit.OK || !strings.Contains(out, "metadata-port: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("config: exit code %d, %q", code, stderr)
	}
	p := ledgetest.Start(t, t.TempDir())
	line, _ := p.Log.Find("LEDGE_SERVICE_HOST")
	logged := ledgetest.LogField(line, "msg") + "\n"
	for _, text := range want {
		if !strings.Contains(stderr, text) || !strings.Contains(logged, text) {
			t.Errorf("config: %q\nserve: %q\nwant both with %q", stderr, line, text)
		}
	}
	if ledgetest.LogField(line, "level") != "WARN" {
		t.Errorf("the level of %s is not WARN", line)
	}
	for i := range 20 {
		t.Setenv(fmt.Sprintf("LEDGE_PORT_%d_TCP_PROTO", 10+i), "tcp")
	}
	if _, stderr, _ := ledgetest.Run(t, "config"); !strings.Contains(stderr, " and 16 more; ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("24 variables: %q", stderr)
	}
}
