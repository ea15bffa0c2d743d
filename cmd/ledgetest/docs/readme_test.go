package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// tour is what the README's five-minute tour tells a reader to type: its shell blocks, in order.
func tour(t *testing.T) []string {
	t.Helper()
	text := ledgetest.MustRead(t, "../../../README.md")
	_, text, found := strings.Cut(text, "## Five-minute tour")
	text, _, _ = strings.Cut(text, "\n## ")
	if !found {
		t.Fatal("README.md has no five-minute tour")
	}
	return ledgetest.ShellBlocks(text)
}

// TestReadmeTour types the README's commands: against a server on free ports, with a libzmq subscriber and a NATS
// client. Only the port numbers and the place of the binary are other than in the text.
func TestReadmeTour(t *testing.T) {
	ledgetest.NeedLibzmq(t)
	blocks := tour(t)
	if len(blocks) != 8 || strings.TrimSpace(blocks[0]) != "make run" {
		t.Fatalf("the tour has %d blocks, want 8 that begin with make run", len(blocks))
	}
	if text := ledgetest.MustRead(t, "../../../Makefile"); !strings.Contains(text, "\nrun: build") || !strings.Contains(text, "./bin/ledge serve") {
		t.Fatal("make run does not build and serve")
	}
	p := ledgetest.StartSeed(t)
	sh := ledgetest.NewShell(p, t)
	everything := p.SubscribeNATS(t, quoted(t, blocks[6], "nats sub '"))
	following := follow(p, t)

	sh.Run(blocks[1]) // profile, device, subscription
	subscriber := sh.Start(blocks[2])
	ledgetest.Await(p, "the subscriber", func() bool { return p.Log.Count(`"topic subscribed"`) > 0 })
	if out := sh.Run(blocks[3]); !strings.Contains(out, `"statusCode":200`) {
		t.Errorf("patch: %s", out)
	}
	ledgetest.Await(p, "the frames", func() bool { return strings.Contains(subscriber.String(), "\n") })
	if got := subscriber.String(); !strings.HasPrefix(got, `['cam', '{"deviceName":"cam-1",`) || !strings.Contains(got, `"adminState":"LOCKED"`) {
		t.Errorf("subscriber printed %s", got)
	}
	sh.Run(blocks[4]) // pictures
	sh.Run(blocks[5]) // the picture is the same
	seesThePicture(t, everything)
	ledgetest.Await(p, "ledge log -f", func() bool { return strings.Contains(following.String(), "camera cam-1 jpeg") })
	for _, want := range []string{"profile camera added", "device cam-1 updated", "adminState: UNLOCKED → LOCKED", "subscription watch added", "DEVICE_CHANGED"} {
		if !strings.Contains(following.String(), want) {
			t.Errorf("ledge log -f does not show %q:\n%s", want, following)
		}
	}
	if out := sh.Run(blocks[7]); strings.Count(out, "whole") != 4 {
		t.Errorf("verify: %s", out)
	}
}

// seesThePicture holds that a NATS client gets events and then the picture that was posted for cam-1, byte for byte.
func seesThePicture(t *testing.T, everything *ledgetest.NATSClient) {
	t.Helper()
	photo := ledgetest.MustRead(t, "../../../docs/tour/photo.jpg")
	seen := map[string]bool{}
	for {
		m := everything.Next(t)
		seen[m.Subject] = true
		if m.Subject == "ledge.reading.camera.cam-1.jpeg" {
			if string(m.Data) != photo {
				t.Errorf("it got other bytes than were posted")
			}
			break
		}
	}
	for _, want := range []string{"ledge.event.profile.camera.added", "ledge.event.device.cam-1.updated", "ledge.reading.sample-image.sample-image.jpeg"} {
		if !seen[want] {
			t.Errorf("it has not seen %s, but %v", want, seen)
		}
	}
}

// quoted returns the argument that follows prefix in single quotes.
func quoted(t *testing.T, text, prefix string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, prefix)
	arg, _, end := strings.Cut(rest, "'")
	if !ok || !end {
		t.Fatalf("no %s…' in %q", prefix, text)
	}
	return arg
}

// follow runs the tour's `ledge log -f`.
func follow(p *ledgetest.Node, t *testing.T) *ledgetest.Output {
	t.Helper()
	return (&ledgetest.Shell{T: t}).Background(exec.Command(ledgetest.Binary, "log", "-f", "-n", "1000", "--data-dir", p.Dir))
}

// maxPage is the size of a page of docs that a reader takes in at one sitting.
const maxPage = 12 << 10

// TestReadmeMap holds that every file, folder and heading that a document links to is there, and that pages are short.
func TestReadmeMap(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]+)?\)`)
	for _, doc := range documents(t) {
		if size := len(ledgetest.MustRead(t, doc)); strings.Contains(doc, "/docs/") && size > maxPage {
			t.Errorf("%s has %d bytes; split it by task into pages of at most %d", doc, size, maxPage)
		}
		for _, m := range link.FindAllStringSubmatch(ledgetest.MustRead(t, doc), -1) {
			target := doc
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(doc), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", doc, err)
			} else if m[2] != "" && !slices.Contains(headings(ledgetest.MustRead(t, target)), m[2]) {
				t.Errorf("%s: %s has no heading %s", doc, target, m[2])
			}
		}
	}
}

// documents are all that users and developers read.
func documents(t *testing.T) (docs []string) {
	t.Helper()
	docs = []string{"../../../README.md", "../../../CHANGELOG.md", "../../../CONTRIBUTING.md"}
	for _, pattern := range []string{"../../../docs/*.md", "../../../docs/*/*.md", "../../../*/DESIGN.md", "../../../*/*/DESIGN.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: found %v, %v", pattern, found, err)
		}
		docs = append(docs, found...)
	}
	return docs
}

// headings are those of a document as a link names them: in lower case, with hyphens for spaces, without question marks.
func headings(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		all = append(all, "#"+strings.NewReplacer(" ", "-", "?", "").Replace(strings.ToLower(m[1])))
	}
	return all
}

// TestScriptsReadTheirPipes holds that no script with pipefail pipes into what ends at its first match: what still writes then fails, now and
// then, with 141.
func TestScriptsReadTheirPipes(t *testing.T) {
	scripts, err := filepath.Glob("../../../.ci/*")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	early := regexp.MustCompile(`\| *(grep -\w*q|head\b)`)
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "pipefail") && early.Match(text) {
			t.Errorf("%s: %s", path, early.Find(text))
		}
	}
}

// TestTestToolsAreListed holds that CONTRIBUTING.md has the table of .ci/testtools, and that this table has each Debian package that a
// skipped test names.
func TestTestToolsAreListed(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "sh", "../../../.ci/testtools", "table").Output()
	if table := string(out); err != nil || !strings.Contains(ledgetest.MustRead(t, "../../../CONTRIBUTING.md"), "\n"+table+"\n") {
		t.Errorf("CONTRIBUTING.md lacks what .ci/testtools table prints: %v\n%s", err, table)
	}
	everywhere := []string{"util-linux", "bsdutils"} // essential in Debian
	named := regexp.MustCompile(`\.Skipf?\([^\n]*Debian's package ([a-z0-9-]+)`)
	for _, file := range goFiles(t) {
		for _, m := range named.FindAllStringSubmatch(ledgetest.MustRead(t, "../../../"+file), -1) {
			if !slices.Contains(everywhere, m[1]) && !strings.Contains(string(out), "`"+m[1]+"`") {
				t.Errorf("%s skips a test for want of Debian's package %s, which .ci/testtools does not have", file, m[1])
			}
		}
	}
}

// goFiles returns the paths of all Go files, from the repository's folder.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".go" {
			files = append(files, filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../../"))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestNamedFilesExist holds that the documents name only Go files that are there.
func TestNamedFilesExist(t *testing.T) {
	files := goFiles(t)
	if own := namedFiles(t, "../../../docs/reference/code.md"); len(own) < 20 {
		t.Errorf("docs/reference/code.md names %d files", len(own))
	}
	for _, doc := range documents(t) {
		for _, name := range namedFiles(t, doc) {
			if !slices.ContainsFunc(files, func(file string) bool { return file == name || strings.HasSuffix(file, "/"+name) }) {
				t.Errorf("%s names %s, which does not exist", doc, name)
			}
		}
	}
}

// namedFiles are the Go files that a document names.
func namedFiles(t *testing.T, doc string) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("`(?:\\.\\./)*([a-z0-9_/]+\\.go)`").FindAllStringSubmatch(ledgetest.MustRead(t, doc), -1) {
		names = append(names, m[1])
	}
	return names
}
