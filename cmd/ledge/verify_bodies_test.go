package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/store/payloads"
)

// TestVerifyBodiesMeanwhile holds that a body is no damage whose reading is removed while it is looked at, by a request or
// with the front of the log, unless another reading refers to it, and that what is recorded meanwhile counts.
func TestVerifyBodiesMeanwhile(t *testing.T) {
	c := keepingLittle(t)
	d := mustOpenData(t, c)
	files, err := payloads.Open(c.payloadDir(), payloads.Options{})
	if err != nil {
		t.Fatal(err)
	}
	post := func(body string) (event string) {
		t.Helper()
		digest, size, err := files.Put(t.Context(), strings.NewReader(body), 100)
		if err != nil {
			t.Fatal(err)
		}
		event = ledgetest.NewID()
		d.submit(t, domain.PostReading{Reading: domain.ReadingPosted{Reading: domain.Reading{
			ID: ledgetest.NewID(), Event: event, Profile: "p", Device: "d", Resource: "r", MediaType: "image/jpeg", Digest: digest, Size: size, Origin: time.Now().UnixNano(),
		}}})
		return event
	}
	post("goes with the front")
	one, other := post("of two events"), post("of two events")
	post("stays")
	b := &bodies{dir: c.payloadDir(), log: d.store.Readings(), fold: d.values, follows: true}
	list, _, err := b.part(1)
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v, want three bodies", err, list)
	}
	var out bytes.Buffer
	check := func(when string, r domain.Reading, whole, damaged int64) {
		t.Helper()
		if err := b.check(t.Context(), &out, r); err != nil || b.count != whole || b.damaged != damaged {
			t.Errorf("%s: %v, %d whole, %d damaged\n%s", when, err, b.count, b.damaged, &out)
		}
	}
	for _, r := range list[:2] {
		ledgetest.Remove(t, filepath.Join(c.payloadDir(), r.Digest))
	}
	d.submit(t, domain.RemoveDataEvent{ID: other})
	check("one of two events is gone", list[1], 0, 1)
	d.submit(t, domain.RemoveDataEvent{ID: one})
	check("both are gone", list[1], 0, 1)
	post("comes later")
	if n, err := b.unused(); err != nil || n != 0 {
		t.Errorf("%d files that no event refers to, %v", n, err)
	}
	check("it is there", list[2], 1, 1)
	d.loseFront(t)
	d.forget(t.Context(), d.projections()[2])
	check("the front of the log is gone", list[0], 1, 1)
	if !strings.Contains(out.String(), "sequence 2, ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("printed:\n%s", &out)
	}
}

// TestVerifyBodies holds that `ledge verify` names each body beside the log that is not what its event says, beside a
// running server and without one.
func TestVerifyBodies(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", "1")
	bodies := make([]string, 4)
	for i := range bodies {
		bodies[i] = strings.Repeat(fmt.Sprint(i), 300_000+i)
		if a := p.PostImage(bodies[i]); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	p.PostImage(bodies[3]) // a second event with the same body
	ledgetest.PostPictureEvent(p, "6877ff35-5566-5d14-a992-000000000001", "small", strings.Repeat("h", 600_000))
	path := func(dir string, body int) string {
		return filepath.Join(dir, "payloads", ledgetest.DigestOf(bodies[body]))
	}
	if out, _ := ledgetest.Verifies(t, dir, exit.OK, "whole, 5 bodies with 1800006 bytes, 0 files that no event refers to"); !strings.Contains(out, "\nstate: not compared") {
		t.Errorf("beside a server: %s", out)
	}
	if a := p.Call(http.MethodDelete, p.CoreData+"/api/v2/event/device/name/hall", "", ""); a.Status != http.StatusAccepted {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	ledgetest.Until(t, "the body of the event that is removed goes", func() bool { return len(ledgetest.Payloads(p)) == len(bodies) })
	const whole = "whole, 4 bodies with 1200006 bytes, 0 files that no event refers to"
	damages := []struct {
		name string
		do   func(dir string)
		line string
		says []string // in the order of the log
	}{
		{"whole", func(string) {}, whole, nil},
		{"missing", func(dir string) { ledgetest.Remove(t, path(dir, 0)) }, "1 damaged, whole 3 bodies with 900006 bytes, 0 files that no event refers to",
			[]string{"sequence 2, .*" + ledgetest.DigestOf(bodies[0]) + ": it is missing"}},
		{"truncated", func(dir string) { ledgetest.Alter(t, path(dir, 1), func(b []byte) []byte { return b[:len(b)-1] }) }, "1 damaged, whole 3 bodies with 900005 bytes, 0 files that no event refers to",
			[]string{"sequence 3, .*" + ledgetest.DigestOf(bodies[1]) + ": it has 300000 bytes, not 300001"}},
		{"a byte flipped", func(dir string) { ledgetest.Alter(t, path(dir, 2), func(b []byte) []byte { b[1000] ^= 1; return b }) }, "1 damaged, whole 3 bodies with 900004 bytes, 0 files that no event refers to",
			[]string{"sequence 4, .*" + ledgetest.DigestOf(bodies[2]) + ": it is altered: its SHA-256 is [0-9a-f]{64}"}},
		{"a folder in its place", func(dir string) {
			ledgetest.Remove(t, path(dir, 3))
			if err := os.Mkdir(path(dir, 3), 0o750); err != nil {
				t.Fatal(err)
			}
		}, "1 damaged, whole 3 bodies with 900003 bytes, 0 files that no event refers to", []string{"sequence 6, .*" + ledgetest.DigestOf(bodies[3]) + ": it cannot be read: "}},
		{"all gone", func(dir string) { ledgetest.Remove(t, filepath.Join(dir, "payloads")) }, "4 damaged, whole 0 bodies with 0 bytes, 0 files that no event refers to",
			[]string{"sequence 2, .*missing", "sequence 3, .*missing", "sequence 4, .*missing", "sequence 6, .*missing"}},
		{"left over", func(dir string) {
			for _, name := range []string{ledgetest.DigestOf("unused"), "incoming-1"} {
				if err := os.WriteFile(filepath.Join(dir, "payloads", name), []byte("unused"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, "whole, 4 bodies with 1200006 bytes, 2 files that no event refers to", nil},
	}
	holds := func(t *testing.T, dir string, i int) {
		t.Helper()
		d := damages[i]
		code := exit.OK
		if len(d.says) > 0 {
			code = exit.Damaged
		}
		out, errs := ledgetest.Verifies(t, dir, code, d.line)
		named := regexp.MustCompile(`(?m)^damaged: LEDGE_READINGS: the body of .*$`).FindAllString(out, -1)
		if !slices.EqualFunc(named, d.says, func(got, want string) bool { return regexp.MustCompile(want).MatchString(got) }) {
			t.Errorf("named %q, want %q", named, d.says)
		}
		if code == exit.Damaged {
			ledgetest.CheckLine(t, "ledge verify", errs, regexp.MustCompile(`^ledge: LEDGE_READINGS: the body of `+d.says[0]+fmt.Sprintf(".*; %d in all; copy", len(d.says))))
		}
		if left, _ := filepath.Glob(filepath.Join(dir, folds)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
	for i := range damages[:4] { // beside the server, one after the other
		saved := ledgetest.Clone(t, filepath.Join(dir, "payloads"))
		damages[i].do(dir)
		holds(t, dir, i)
		ledgetest.CopyTree(t, saved, filepath.Join(dir, "payloads"), ledgetest.Everything)
	}
	p.Stop()
	for i, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			dir := ledgetest.Clone(t, dir)
			d.do(dir)
			holds(t, dir, i)
			if out, _, _ := ledgetest.Run(t, "verify", "--data-dir", dir); strings.Count(out, "equals the fold") != 3 {
				t.Errorf("the state is not compared: %s", out)
			}
		})
	}
}
