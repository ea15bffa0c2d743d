package damage

import (
	bytesof "encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/storetest"
)

// answers are what a node answers about everything that NewFolder made.
func answers(p *ledgetest.Node) string {
	p.TB.Helper()
	all := ""
	for _, url := range []string{
		p.Metadata + "/api/v2/device/all", p.Metadata + "/api/v2/deviceprofile/all", p.Metadata + "/api/v2/deviceservice/all",
		p.CoreData + "/api/v2/event/all", p.CoreData + "/api/v2/reading/all", p.Notifications + "/api/v2/notification/status/NEW",
		p.Notifications + "/api/v2/notification/status/PROCESSED", p.Notifications + "/api/v2/subscription/all",
	} {
		a := p.Call(http.MethodGet, url, "", "")
		_, path, _ := strings.Cut(url, "/api/")
		all += fmt.Sprintln(path, a.Status, a.Header.Get("ETag"), a.Body)
	}
	return all
}

func TestSalvage(t *testing.T) {
	from := ledgetest.NewFolder(t)
	body := ledgetest.DigestOf(strings.Repeat("1", 300_000))
	flipAt := func(stream string, part float64) func(string) {
		return func(dir string) {
			ledgetest.Alter(t, ledgetest.Block(dir, stream, "1"), func(b []byte) []byte { b[int(float64(len(b))*part)] ^= 1; return b })
		}
	}
	for _, tt := range []struct {
		name string
		do   func(dir string)
		code int
		says []string // expressions, of lines of the report
	}{
		{"whole", func(string) {}, exit.OK, []string{`LEDGE_EVENTS: 16 events kept, 0 lost; copied byte for byte`}},
		{"an event", flipAt("LEDGE_EVENTS", 0.5), exit.Partial, []string{`damaged: LEDGE_EVENTS \d+: its record is altered or cut off \(1.blk at offset \d+, \d+ bytes\)`, `lost: LEDGE_EVENTS (\d+) to (\d+): `, `LEDGE_EVENTS: 15 events kept, 1 lost; `, `LEDGE_READINGS: 6 events kept, 0 lost; copied`}},
		{"the first event", flipAt("LEDGE_EVENTS", 0.01), exit.Partial, []string{`lost: LEDGE_EVENTS 1 to 1: `}},
		{"the last event", flipAt("LEDGE_EVENTS", 0.99), exit.Partial, []string{`lost: LEDGE_EVENTS 16 to 16: `}},
		{"a reading, and another's body", func(dir string) {
			flipAt("LEDGE_READINGS", 0.01)(dir)
			ledgetest.Alter(t, filepath.Join(dir, "payloads", body), func(b []byte) []byte { b[7] ^= 1; return b })
		}, exit.Partial, []string{`lost: LEDGE_READINGS 1 to 1: its record`, `lost: LEDGE_READINGS 4 to 4: its body ` + body + ` is lost`, `left out: payloads/` + body + `: it is altered`}},
		{"a body", func(dir string) { ledgetest.Remove(t, filepath.Join(dir, "payloads", body)) }, exit.Partial, []string{`lost: LEDGE_READINGS 4 to 4: its body`}},
		{"a log", func(dir string) { ledgetest.Remove(t, ledgetest.StreamFolder(dir, "LEDGE_NOTIFICATIONS")) }, exit.Partial, []string{`LEDGE_NOTIFICATIONS: 0 events kept, \d lost`}},
		{"meta and the secrets", func(dir string) {
			ledgetest.Remove(t, filepath.Join(dir, "nats/jetstream/LEDGE/streams/LEDGE_EVENTS/meta.inf"))
			ledgetest.Alter(t, filepath.Join(dir, "secrets.json"), func(b []byte) []byte { return b[1:] })
		}, exit.Partial, []string{`secrets are left out: `, `LEDGE_EVENTS: 16 events kept, 0 lost; copied`}},
		{"an unfinished write", func(dir string) {
			storetest.ForgetStop(t, filepath.Join(dir, "nats"))
			ledgetest.Alter(t, ledgetest.Block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte { return append(b, b[:50]...) })
		}, exit.OK, []string{`left out: LEDGE_EVENTS: 50 bytes of an unfinished write`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, to := ledgetest.Clone(t, from), filepath.Join(t.TempDir(), "new")
			tt.do(dir)
			leaves := ledgetest.MustLeave(t, dir)
			out, errs, code := ledgetest.Run(t, "salvage", "--data-dir", dir, to)
			leaves()
			if code != tt.code || strings.Contains(errs, "WARN") {
				t.Fatalf("exit code %d, want %d\n%s%s", code, tt.code, out, errs)
			}
			report, err := os.ReadFile(filepath.Join(to, "salvage.txt"))
			if err != nil || !strings.HasPrefix(out, string(report)) {
				t.Errorf("%v; the report is\n%s\nprinted is\n%s", err, report, out)
			}
			for _, want := range tt.says {
				if !regexp.MustCompile(`(?m)^` + want).Match(report) {
					t.Errorf("%s is missing in\n%s", want, report)
				}
			}
			if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", to); code != exit.OK || strings.Count(out, ": whole") != 4 {
				t.Errorf("verify: %d\n%s%s", code, out, errs)
			}
			p := ledgetest.Start(t, to)
			if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/name/cam-0", "", ""); a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			if tt.name != "the first event" { // it was the device service
				p.AddDevice("next")
			}
			if code := p.Stop(); code != exit.OK {
				t.Errorf("stop: %d\n%s", code, p.Log)
			}
			if out, errs, code := ledgetest.Run(t, "verify", "--data-dir", to); code != exit.OK {
				t.Errorf("verify later: %d\n%s%s", code, out, errs)
			}
			if _, errs, code := ledgetest.Run(t, "salvage", "--data-dir", dir, to); code != exit.Folder || !strings.Contains(errs, "is not empty") {
				t.Errorf("again: %d, %s", code, errs)
			}
		})
	}
}

// TestSalvageMakesNoSamples loses the first events of a node, with the built-in device service and the samples. Before, the next start made all
// 7 again.
func TestSalvageMakesNoSamples(t *testing.T) {
	t.Parallel()
	dir, to := ledgetest.NewFolder(t), filepath.Join(t.TempDir(), "new")
	ledgetest.Alter(t, ledgetest.Block(dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte {
		at := 0
		for range 8 {
			at += int(bytesof.LittleEndian.Uint32(b[at:]) &^ (1 << 31))
		}
		clear(b[:at])
		return b
	})
	if out, errs, code := ledgetest.Run(t, "salvage", "--data-dir", dir, to); code != exit.Partial || !strings.Contains(out, "lost: LEDGE_EVENTS 1 to 8: ") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	p := ledgetest.Start(t, to)
	for _, path := range []string{"deviceservice/all", "deviceprofile/all"} {
		if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/"+path, "", ""); !strings.Contains(a.Body, `"totalCount":0`) {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all", "", ""); !strings.Contains(a.Body, `"totalCount":6`) {
		t.Errorf("devices: %s", a.Body)
	}
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.Verify(t, to)
}

// TestSalvageRefuses holds which folders it does not take, and that it makes nothing then.
func TestSalvageRefuses(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	other := filepath.Join(t.TempDir(), "new")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--data-dir", dir}, exit.Usage, "write `ledge salvage DIR`"},
		{[]string{"--data-dir", dir, filepath.Join(dir, "new")}, exit.Usage, "choose another folder"},
		{[]string{"--data-dir", dir, other}, exit.InUse, "in use by process"},
		{[]string{"--data-dir", other, other + "2"}, exit.Folder, "no data folder"},
	} {
		if _, errs, code := ledgetest.Run(t, append([]string{"salvage"}, tt.args...)...); code != tt.code || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: %d, %s; want %d, %q", tt.args, code, errs, tt.code, tt.says)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a folder was made")
	}
	p.Stop()
}
