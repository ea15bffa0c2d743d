package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// TestPictureConsumers runs the consumers that docs/reference/nats.md shows: they save what was posted before they began, what
// comes while they listen, while they do not, and while Ledge is away, byte for byte.
func TestPictureConsumers(t *testing.T) {
	t.Parallel()
	doc := ledgetest.MustRead(t, "../../../docs/reference/nats.md")
	program := filepath.Join(t.TempDir(), "pictures")
	if out, err := exec.Command("go", "build", "-o", program, "../../../docs/tour/pictures").CombinedOutput(); err != nil {
		t.Fatalf("build the consumer: %v\n%s", err, out)
	}
	for shown, command := range map[string][]string{
		"go run ./docs/tour/pictures pictures":   {program},
		"python3 docs/tour/pictures.py pictures": {ledgetest.Python, "../../../docs/tour/pictures.py"},
	} {
		if !strings.Contains(doc, shown) {
			t.Errorf("docs/reference/nats.md does not say %s", shown)
		}
		t.Run(filepath.Base(command[len(command)-1]), func(t *testing.T) {
			t.Parallel()
			if command[0] == ledgetest.Python {
				ledgetest.NeedNATSPython(t)
			}
			savesPictures(t, command)
		})
	}
}

func savesPictures(t *testing.T, command []string) {
	dir, folder := t.TempDir(), filepath.Join(t.TempDir(), "pictures")
	ports := []string{"--nats-port", strconv.Itoa(porttest.Hold(t)), "--data-port", strconv.Itoa(porttest.Hold(t))}
	p := ledgetest.Start(t, dir, ports...)
	posted := map[string]string{} // file name to what it must hold
	removed := postPicture(p, posted, ledgetest.LargePicture(0))
	p.Call(http.MethodDelete, p.CoreData+"/api/v2/event/id/"+eventOf(p, removed), "", "")
	delete(posted, filepath.Join("sample-image", removed+".jpeg"))
	postPictures(p, posted, 1)
	ledgetest.PostPictureEvent(p, "6877ff35-5566-5d14-a992-000000000000", strings.Repeat("s", 250<<10), strings.Repeat("t", 250<<10))

	run := func(p *ledgetest.Node) (*ledgetest.Output, *exec.Cmd) {
		cmd := exec.Command(command[0], append(slices.Clone(command[1:]), folder, p.NATS, p.CoreData)...)
		return (&ledgetest.Shell{T: t}).Background(cmd), cmd
	}
	mend := spoil(p, ledgetest.LargePicture(1))
	out, consumer := run(p)
	ledgetest.Until(t, "the consumer to get no whole picture", func() bool { return p.Log.Count(`"msg":"answer broke off"`) > 0 })
	mend()
	savesAll(t, folder, posted, out)
	if out.Count("is only at core-data") == 0 {
		t.Errorf("it does not say that an event was left out:\n%s", out)
	}
	if out.Count(removed+" has been removed") == 0 {
		t.Errorf("it does not say that a picture has been removed:\n%s", out)
	}

	postPictures(p, posted, 2)
	savesAll(t, folder, posted, out)
	for n := range 2 {
		p.Kill()
		p = ledgetest.Start(t, dir, ports...)
		postPictures(p, posted, 3+n)
		savesAll(t, folder, posted, out)
	}

	ledgetest.Until(t, "all acknowledgements", func() bool { return unacknowledged(p) == 0 })
	_ = consumer.Process.Kill()
	_ = consumer.Wait() // what is delivered to a dead client comes again after 30 seconds
	postPictures(p, posted, 5)
	out, _ = run(p)
	savesAll(t, folder, posted, out)
	if want := len(posted) / 5; out.Count("saved ") != want {
		t.Errorf("started again, it saved %d, want %d: \n%s", out.Count("saved "), want, out)
	}
}

// unacknowledged returns how many messages the consumer has not acknowledged, or has not had yet.
func unacknowledged(p *ledgetest.Node) uint64 {
	p.TB.Helper()
	nc, js := ledgetest.MustJetStream(p.TB, p.NATS)
	defer nc.Close()
	ctx, cancel := context.WithTimeout(p.TB.Context(), ledgetest.Timeout)
	defer cancel()
	c, err := js.Consumer(ctx, "LEDGE_READINGS", "pictures")
	if err != nil {
		p.TB.Fatal(err)
	}
	return c.CachedInfo().NumPending + uint64(c.CachedInfo().NumAckPending)
}

// spoil changes what is kept of a picture until it is mended.
func spoil(p *ledgetest.Node, picture string) (mend func()) {
	p.TB.Helper()
	file := filepath.Join(p.Dir, "payloads", fmt.Sprintf("%x", sha256.Sum256([]byte(picture))))
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			p.TB.Fatal(err)
		}
	}
	if ledgetest.MustRead(p.TB, file) != picture {
		p.TB.Fatalf("%s is not the picture", file)
	}
	write("x" + picture[1:])
	return func() { write(picture) }
}

// postPictures posts a picture below limit-inline-bytes, one above, and an event that has both and a number. It notes them.
func postPictures(p *ledgetest.Node, posted map[string]string, n int) {
	p.TB.Helper()
	small := ledgetest.MustRead(p.TB, "../../../docs/tour/photo.jpg") + strconv.Itoa(n)
	postPicture(p, posted, small)
	postPicture(p, posted, ledgetest.LargePicture(n))
	event := fmt.Sprintf("6877ff35-5566-5d14-a992-%012d", n)
	ledgetest.PostPictureEvent(p, event, small, ledgetest.LargePicture(-n))
	for i, picture := range []string{small, ledgetest.LargePicture(-n)} {
		posted[filepath.Join("hall", readingsOf(p, event)[i]+".png")] = picture
	}
}

func postPicture(p *ledgetest.Node, posted map[string]string, picture string) (id string) {
	p.TB.Helper()
	if a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", picture); a.Status != http.StatusOK {
		p.TB.Fatalf("got %d %s", a.Status, a.Body)
	}
	var newest ledgetest.Listed
	if err := json.Unmarshal([]byte(ledgetest.Ask(p, p.CoreData+"/api/v2/reading/device/name/sample-image?limit=1", "application/json").Body), &newest); err != nil || len(newest.Readings) != 1 {
		p.TB.Fatalf("%v, %d readings", err, len(newest.Readings))
	}
	id = newest.Readings[0].ID
	posted[filepath.Join("sample-image", id+".jpeg")] = picture
	return id
}

func readingsOf(p *ledgetest.Node, event string) (ids []string) {
	p.TB.Helper()
	var e struct {
		Event struct{ Readings []struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(ledgetest.Ask(p, p.CoreData+"/api/v2/event/id/"+event, "application/json").Body), &e); err != nil {
		p.TB.Fatal(err)
	}
	for _, r := range e.Event.Readings {
		ids = append(ids, r.ID)
	}
	return ids
}

// eventOf is the id of the event that has a reading, the newest of its device.
func eventOf(p *ledgetest.Node, reading string) string {
	p.TB.Helper()
	var list struct{ Events []struct{ ID string } }
	if err := json.Unmarshal([]byte(ledgetest.Ask(p, p.CoreData+"/api/v2/event/device/name/sample-image?limit=1", "application/json").Body), &list); err != nil {
		p.TB.Fatal(err)
	}
	if id := list.Events[0].ID; slices.Contains(readingsOf(p, id), reading) {
		return id
	}
	p.TB.Fatalf("the newest event has not the reading %s", reading)
	return ""
}

// savesAll waits until a consumer's folder has these files and nothing else.
func savesAll(t *testing.T, folder string, want map[string]string, out *ledgetest.Output) {
	t.Helper()
	got := map[string]string{}
	for end := time.Now().Add(ledgetest.Timeout); !maps.Equal(got, want); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %v\nwant %v\n%s", sizes(got), sizes(want), out)
		}
		clear(got)
		for file := range allFiles(t, folder) {
			if text, err := os.ReadFile(filepath.Join(folder, file)); err == nil && file != "incoming" {
				got[file] = string(text)
			}
		}
	}
}

func allFiles(t *testing.T, folder string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, pattern := range []string{"*", "*/*"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				all[strings.TrimPrefix(file, folder+string(filepath.Separator))] = true
			}
		}
	}
	return all
}

func sizes(files map[string]string) map[string]int {
	all := map[string]int{}
	for name, text := range files {
		all[name] = len(text)
	}
	return all
}
