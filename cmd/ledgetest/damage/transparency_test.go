package damage

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/storetest"
)

// kept are the things that an auditor keeps on another machine.
type kept struct {
	key        string
	checkpoint string // the file
	proof      string // the file
}

// mustRun runs a command on a data folder and returns its output.
func mustRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, errs, code := ledgetest.Run(t, append(args, "--data-dir", dir)...)
	if code != exit.OK {
		t.Fatalf("ledge %s: %d\n%s%s", args, code, out, errs)
	}
	return out
}

// mustKeep makes the checkpoint and the proof of an event of a node, which may run.
func mustKeep(t *testing.T, dir string, seq uint64) kept {
	t.Helper()
	k := kept{strings.TrimSpace(mustRun(t, dir, "key")), filepath.Join(t.TempDir(), "checkpoint"), filepath.Join(t.TempDir(), "proof")}
	files := map[string]string{k.checkpoint: mustRun(t, dir, "checkpoint"), k.proof: mustRun(t, dir, "prove", fmt.Sprint(seq))}
	for file, text := range files {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// check verifies the log of a folder against the checkpoint. want is a part of the error, "" if the log extends it.
func (k kept) check(t *testing.T, what, dir, want string) {
	t.Helper()
	out, errs, code := ledgetest.Run(t, "verify", "--checkpoint", k.checkpoint, "--key", k.key, "--data-dir", dir)
	if want == "" && (code != exit.OK || !strings.Contains(out, "extend the checkpoint of")) ||
		want != "" && (code != exit.Damaged || !strings.Contains(errs, want)) {
		t.Errorf("%s: %d\n%s%swant %q", what, code, out, errs, want)
	}
}

// signedBy holds that a checkpoint is signed by the node's own key, so that the signature does not tell a forged log.
func (k kept) signedBy(t *testing.T, what, checkpoint string) {
	t.Helper()
	v, err := note.NewVerifier(k.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open([]byte(checkpoint), note.VerifierList(v)); err != nil {
		t.Errorf("%s: %v\n%s", what, err, checkpoint)
	}
}

func addDevices(t *testing.T, p *ledgetest.Node, prefix string, n int) {
	t.Helper()
	a := p.Call("POST", p.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary(prefix, n))
	ledgetest.AllAre(t, ledgetest.ItemsOf(t, a, n), 201)
}

// TestForgedLogsAreFound forges a log with full access to the folder and to the keys of the node. `ledge verify` finds nothing, because the
// forged log is a whole one. A checkpoint of an earlier moment finds each.
func TestForgedLogsAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	addDevices(t, p, "a", 300)
	p.Stop()
	early := ledgetest.Clone(t, dir)
	p = ledgetest.Start(t, dir)
	addDevices(t, p, "b", 300)
	k := mustKeep(t, dir, 20)
	k.check(t, "the log itself, running", dir, "")
	addDevices(t, p, "c", 100)
	k.check(t, "the log itself, with later events", dir, "")
	p.Stop()
	k.check(t, "the log itself, stopped", dir, "")

	t.Run("a log that was cut", func(t *testing.T) {
		cut := ledgetest.Clone(t, early)
		ledgetest.Verify(t, cut)
		k.check(t, "cut", cut, "the log was cut")
		k.signedBy(t, "cut", mustRun(t, cut, "checkpoint"))
	})
	t.Run("a log that was forked", func(t *testing.T) {
		fork := ledgetest.Clone(t, early)
		p := ledgetest.Start(t, fork)
		addDevices(t, p, "other", 500)
		k.check(t, "forked, running", fork, "the root of the first")
		k.signedBy(t, "forked", mustRun(t, fork, "checkpoint"))
		p.Stop()
		ledgetest.Verify(t, fork)
		k.check(t, "forked", fork, "the root of the first")
		other := mustKeep(t, fork, 20)
		other.check(t, "the fork with its own checkpoint", fork, "")
		other.check(t, "the true log with the checkpoint of the fork", dir, "does not extend")
	})
	t.Run("an event that was rewritten", func(t *testing.T) {
		rewritten := ledgetest.Clone(t, dir)
		forged := storetest.ForgeLog(t, filepath.Join(rewritten, "nats"), `"name":"a-7"`, `"name":"z-7"`)
		ledgetest.Remove(t, filepath.Join(rewritten, "state.db"))
		p := ledgetest.Start(t, rewritten)
		if !p.HasDevice("z-7") || p.HasDevice("a-7") {
			t.Errorf("event %d is not rewritten", forged)
		}
		k.check(t, "rewritten, running", rewritten, "the root of the first")
		checkpoint := mustRun(t, rewritten, "checkpoint")
		k.signedBy(t, "rewritten", checkpoint)
		p.Stop()
		ledgetest.Verify(t, rewritten)
		k.check(t, "rewritten", rewritten, "the root of the first")
		ledgetest.Remove(t, filepath.Join(rewritten, "nats", "LEDGE_EVENTS.tree"))
		if again := mustRun(t, rewritten, "checkpoint"); again != checkpoint {
			t.Errorf("without the file of hashes the node signs another checkpoint:\n%swith it\n%s", again, checkpoint)
		}
	})
	t.Run("a checkpoint that was signed again", func(t *testing.T) {
		fork := ledgetest.Clone(t, early)
		p := ledgetest.Start(t, fork)
		addDevices(t, p, "other", 300)
		again := mustKeep(t, fork, 20)
		p.Stop()
		again.check(t, "a checkpoint of the same size by the same key", dir, "the root of the first")
	})
}

// TestCheckpointOfRestoredNode holds that a restored backup extends the checkpoints of the node before, under an origin of its own.
func TestCheckpointOfRestoredNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	addDevices(t, p, "a", 300)
	k := mustKeep(t, dir, 20)
	file, _ := ledgetest.MustBackUp(t, dir)
	p.Stop()
	restored := filepath.Join(t.TempDir(), "restored")
	if out, errs, code := ledgetest.Run(t, "restore", file, restored); code != exit.OK {
		t.Fatalf("restore: %d\n%s%s", code, out, errs)
	}
	p = ledgetest.Start(t, restored)
	defer p.Stop()
	addDevices(t, p, "b", 10)
	k.check(t, "restored", restored, "")
	if out := mustRun(t, restored, "verify", "--checkpoint", k.checkpoint); !strings.Contains(out, "it was made of a backup of that node") {
		t.Errorf("verify prints %s", out)
	}
	if key := strings.TrimSpace(mustRun(t, restored, "key")); key == k.key {
		t.Errorf("two nodes have the verifier key %s", key)
	}
}

// TestProofOnAnotherMachine checks a proof with nothing but the file and the key, and finds each change of it.
func TestProofOnAnotherMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	addDevices(t, p, "a", 300)
	k := mustKeep(t, dir, 20)
	p.Stop()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	out, errs, code := ledgetest.Run(t, "verify", k.proof, "--key", k.key)
	if code != exit.OK || !strings.Contains(out, "device.added") || !strings.Contains(out, "event 20 is on the log of ledge/") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	text := ledgetest.MustRead(t, k.proof)
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string][2]string{
		"another payload": {`camera`, `Camera`}, "another actor": {`"Ledge-Actor":"anonymous`, `"Ledge-Actor":"user:eve_`},
		"another time": {`"ce-time":"2`, `"ce-time":"3`}, "another sequence": {`"seq":20`, `"seq":21`}, "another size": {`\n30`, `\n31`},
		"another format": {`ledge.proof/1`, `ledge.proof/2`},
	} {
		altered := strings.Replace(text, change[0], change[1], 1)
		if altered == text {
			t.Errorf("%s: the proof has no %s", what, change[0])
		}
		file := filepath.Join(t.TempDir(), "proof")
		if err := os.WriteFile(file, []byte(altered), 0o600); err != nil {
			t.Fatal(err)
		}
		want := exit.Damaged
		if what == "another format" {
			want = exit.Usage
		}
		if out, errs, code := ledgetest.Run(t, "verify", file, "--key", k.key); code != want || out != "" {
			t.Errorf("%s: %d\n%s%s", what, code, out, errs)
		}
	}
	if _, errs, code := ledgetest.Run(t, "verify", k.proof, "--key", strings.Replace(k.key, "+", "x+", 1)); code != exit.Damaged {
		t.Errorf("another key: %d %s", code, errs)
	}
}
