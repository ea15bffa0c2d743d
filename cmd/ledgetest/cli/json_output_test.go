package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store"
)

// jsonOf runs a command with --json and returns its object, and its error as an object.
func jsonOf(t *testing.T, want int, args ...string) (object, problem map[string]any) {
	t.Helper()
	out, errs, code := ledgetest.Run(t, append(args, "--json")...)
	if code != want {
		t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
	}
	if out != "" {
		if err := json.Unmarshal([]byte(out), &object); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	if code != exit.OK {
		lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &problem); err != nil {
			t.Fatalf("%v: %v: %s", args, err, errs)
		}
		if problem["message_type"] != "exit_error" || problem["code"] != float64(code) || problem["message"] == "" {
			t.Errorf("%v: the error is %v", args, problem)
		}
	}
	return object, problem
}

func wantKeys(t *testing.T, what string, object any, keys ...string) {
	t.Helper()
	all, _ := object.(map[string]any)
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, slices.Sorted(slices.Values(keys))) {
		t.Errorf("%s has the fields %v, want %v", what, got, keys)
	}
}

// The fields of --json are those of docs/reference/operating.md, with what the commands print for people.
func TestJSONOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("cam-1")
	check := func(notes string) {
		t.Helper()
		v, _ := jsonOf(t, exit.OK, "verify", "--data-dir", dir)
		wantKeys(t, "verify", v, "whole", "streams", "damages", "notes")
		streams, _ := v["streams"].([]any)
		if v["whole"] != true || len(streams) != 3 || len(v["damages"].([]any)) != 0 || !strings.Contains(strings.Join(textsIn(v["notes"]), "\n"), notes) {
			t.Fatalf("verify: %v", v)
		}
		wantKeys(t, "a stream of verify", streams[0], "stream", "events", "first", "last", "chain")
		if one := streams[0].(map[string]any); one["stream"] != store.Streams()[0] || one["last"].(float64) < 5 || len(one["chain"].(string)) != 64 {
			t.Errorf("verify: %v", one)
		}
	}
	check("state: not compared")
	file := filepath.Join(t.TempDir(), "backup.tar")
	b, _ := jsonOf(t, exit.OK, "backup", file, "--data-dir", dir)
	wantKeys(t, "backup", b, "file", "format", "version", "time", "payloads", "payloadBytes", "streams")
	if streams := b["streams"].(map[string]any); b["file"] != file || len(streams) != 3 {
		t.Errorf("backup: %v", b)
	} else {
		wantKeys(t, "a stream of backup", streams[store.Streams()[0]], "first", "last", "chain", "firstBlock")
	}
	if _, problem := jsonOf(t, exit.Usage, "backup", file, "--data-dir", dir); !strings.Contains(problem["message"].(string), "is there already") {
		t.Errorf("backup again: %v", problem)
	}
	p.Stop()
	check("state.db: equals the fold")
	a, _ := jsonOf(t, exit.OK, "archive", "--data-dir", dir)
	wantKeys(t, "archive", a, "snapshot", "archives", "missing", "unread")
	version, _ := jsonOf(t, exit.OK, "version")
	if version["modules"].(map[string]any)["go.etcd.io/bbolt"] == nil || version["version"] == "" || version["platform"] == "" || version["go"] == "" {
		t.Errorf("version: %v", version)
	}
	block := filepath.Join(dir, "nats", "jetstream", "LEDGE", "streams", store.Streams()[0], "msgs", "1.blk")
	text := []byte(ledgetest.MustRead(t, block))
	text[len(text)/2] ^= 1
	ledgetest.MustDo(t, os.WriteFile(block, text, 0o600))
	v, problem := jsonOf(t, exit.Damaged, "verify", "--data-dir", dir)
	if v["whole"] != false || len(v["damages"].([]any)) == 0 || len(v["streams"].([]any)) != 2 || !strings.Contains(problem["message"].(string), "is damaged") {
		t.Errorf("verify of damage: %v %v", v, problem)
	}
	if _, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir); code != exit.Damaged || !strings.HasPrefix(errs, "ledge: ") {
		t.Errorf("without --json: %d %s", code, errs)
	}
	if v, _ := jsonOf(t, exit.Folder, "verify", "--data-dir", dir+"-missing"); v != nil {
		t.Errorf("verify without a folder prints %v", v)
	}
}

// TestJSONOfArchives holds that --json and the text name the same archives.
func TestJSONOfArchives(t *testing.T) {
	t.Parallel()
	dir, _ := ledgetest.Archived(t)
	a, _ := jsonOf(t, exit.OK, "archive", "--data-dir", dir)
	wantKeys(t, "archive", a, "publicKey", "snapshot", "archives", "missing", "unread")
	text, _, _ := ledgetest.Run(t, "archive", "--data-dir", dir)
	list := a["archives"].([]any)
	if len(list) != 1 || strings.Count(text, ": events ") != len(list) || !strings.Contains(text, a["publicKey"].(string)) {
		t.Fatalf("%v\n%s", a, text)
	}
	wantKeys(t, "an archive", list[0], "file", "first", "last")
}

func textsIn(list any) (all []string) {
	for _, one := range list.([]any) {
		all = append(all, one.(string))
	}
	return all
}
