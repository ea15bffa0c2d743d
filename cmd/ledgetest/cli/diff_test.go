package cli

import (
	"net/http"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestDiffCommand prints the difference between two moments, beside the server and of its folder. A change that was taken back is not one.
func TestDiffCommand(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	for _, name := range []string{"cam-1", "cam-2", "cam-3"} {
		p.AddDevice(name)
	}
	ledgetest.DescribeDevice(p, "cam-1", "over the door")
	tag := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/cam-1", "", "").Header.Get("ETag")
	from := strings.Trim(tag, `"`)
	ledgetest.DescribeDevice(p, "cam-1", "on the roof")
	ledgetest.DescribeDevice(p, "cam-2", "for a while")
	ledgetest.DescribeDevice(p, "cam-2", "")
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam-3", "", "")
	p.AddDevice("cam-4")
	for _, state := range []string{"running", "stopped"} {
		out, stderr, code := ledgetest.Run(t, "diff", "--from", from, "--data-dir", dir)
		want := "device cam-1: updated\n  description: over the door → on the roof\ndevice cam-3: removed\n"
		added := strings.Contains(out, "\ndevice cam-4: added\n")
		if code != exit.OK || !strings.HasPrefix(out, want) || !added || strings.Contains(out, "cam-2") {
			t.Errorf("%s: %d %s%s", state, code, out, stderr)
		}
		out, stderr, code = ledgetest.Run(t, "diff", "--from", from, "--entity", "device", "--name", "cam-1", "--json", "--data-dir", dir)
		const object = `{"entity":"device","name":"cam-1","change":"updated",` +
			`"changes":[{"field":"description","was":"over the door","is":"on the roof"}]}` + "\n"
		if code != exit.OK || out != object {
			t.Errorf("%s: %d %s%s", state, code, out, stderr)
		}
		out, stderr, code = ledgetest.Run(t, "diff", "--from", from, "--to", from, "--data-dir", dir)
		if code != exit.OK || out != "" {
			t.Errorf("%s: %d %s%s", state, code, out, stderr)
		}
		out, stderr, code = ledgetest.Run(t, "diff", "--from", "1000w", "--to", from, "--name", "cam-1", "--data-dir", dir)
		described := strings.Contains(out, "description: nothing → over the door")
		if code != exit.OK || !strings.HasPrefix(out, "device cam-1: added\n") || !described {
			t.Errorf("%s: %d %s%s", state, code, out, stderr)
		}
		if state == "running" {
			p.Stop()
		}
	}
	for says, args := range map[string][]string{
		"--from is missing":                     {},
		"neither a sequence nor a time":         {"--from", "x"},
		"use device, profile, service":          {"--from", "1", "--entity", "camera"},
		"event 99999 is not recorded yet":       {"--from", "99999"},
		"--from is event 3 and --to is event 2": {"--from", "3", "--to", "2"},
	} {
		_, stderr, code := ledgetest.Run(t, append([]string{"diff", "--data-dir", dir}, args...)...)
		if code == exit.OK || !strings.Contains(stderr, says) {
			t.Errorf("%v: %d %s, want %q", args, code, stderr, says)
		}
	}
}
