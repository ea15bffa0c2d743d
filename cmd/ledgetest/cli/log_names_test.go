package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// `ledge log` says so if a type, device, actor or subject never was on the log.
func TestLogNamesThatNeverWere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	ledgetest.Start(t, dir).Stop()
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--type", "device.aded"}, exit.Failure, `no message on the log has --type "device.aded"`},
		{[]string{"--device", "cam-9"}, exit.Failure, `--device "cam-9"`},
		{[]string{"--actor", "nobody", "--type", "device.*"}, exit.Failure, `--type "device.*" and --actor "nobody"`},
		{[]string{"--subject", "ledge.other.>"}, exit.Failure, `--subject "ledge.other.>"`},
		{[]string{"--type", "device.aded", "--since", "1h"}, exit.OK, ""},
		{[]string{"--type", "device.added"}, exit.OK, ""},
	} {
		_, errs, code := ledgetest.Run(t, append([]string{"log", "--data-dir", dir}, tt.args...)...)
		if code != tt.code || !strings.Contains(errs, tt.says) || (tt.says == "") != (errs == "") {
			t.Errorf("%v: exit code %d, %q; want %d and %q", tt.args, code, errs, tt.code, tt.says)
		}
	}
}
