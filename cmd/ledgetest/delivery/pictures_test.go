package delivery

import (
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

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// TestPictureConsumers runs the consumers that docs/reference/taps.md shows: they save what was posted before they began, what
// comes while they listen, while they do not, and while Ledge is away, byte for byte.
func TestPictureConsumers(t *testing.T) {
	t.Parallel()
	doc := ledgetest.MustRead(t, "../../../docs/reference/taps.md")
	program := filepath.Join(t.TempDir(), "pictures")
	if out, err := exec.Command("go", "build", "-o", program, "../../../docs/tour/pictures").CombinedOutput(); err != nil {
		t.Fatalf("build the consumer: %v\n%s", err, out)
	}
	for shown, command := range map[string][]string{
		"go run ./docs/tour/pictures pictures":   {program},
		"python3 docs/tour/pictures.py pictures": {ledgetest.Python, "../../../docs/tour/pictures.py"},
	} {
		if !strings.Contains(doc, shown) {
			t.Errorf("docs/reference/taps.md does not say %s", shown)
		}
		t.Run(filepath.Base(command[len(command)-1]), func(t *testing.T) { savesPictures(t, command) })
	}
}

func savesPictures(t *testing.T, command []string) {
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip("python3 is not installed: Debian's package python3")
	}
	dir, folder := t.TempDir(), filepath.Join(t.TempDir(), "pictures")
	ports := []string{"--tap-port", strconv.Itoa(porttest.Hold(t)), "--data-port", strconv.Itoa(porttest.Hold(t))}
	p := ledgetest.Start(t, dir, ports...)
	posted := map[string]string{} // file name to what it must hold
	removed := postPicture(p, posted, ledgetest.LargePicture(0))
	p.Call(http.MethodDelete, p.CoreData+"/api/v2/event/id/"+eventOf(p, removed), "", "")
	delete(posted, filepath.Join("sample-image", removed+".jpeg"))
	postPictures(p, posted, 1)

	gap := newLossy(t, p.Tap)
	run := func(p *ledgetest.Node) (*ledgetest.Output, *exec.Cmd) {
		args := append(slices.Clone(command[1:]), folder, gap.url, p.CoreData)
		cmd := exec.Command(command[0], args...)
		return (&ledgetest.Shell{T: t}).Background(cmd), cmd
	}
	mend := spoil(p, ledgetest.LargePicture(1))
	out, consumer := run(p)
	ledgetest.Until(t, "the consumer to get no whole picture", func() bool { return p.Log.Count(`"msg":"answer broke off"`) > 0 })
	mend()
	ledgetest.Until(t, "the consumer", func() bool { return out.Count("up to date") == 1 })
	holdsPictures(t, folder, posted)
	if out.Count(removed+" has been removed") != 1 {
		t.Errorf("it does not say that a picture has been removed:\n%s", out)
	}

	postPictures(p, posted, 2)
	ledgetest.Until(t, "live pictures", func() bool { return out.Count("saved") == len(posted) })
	holdsPictures(t, folder, posted)

	gap.lose.Store(2)
	postPictures(p, posted, 3)
	postPictures(p, posted, 4)
	ledgetest.Until(t, "what was lost on the way", func() bool { return out.Count("saved") == len(posted) })
	holdsPictures(t, folder, posted)
	if gap.lose.Load() != 0 || out.Count("up to date") != 1 {
		t.Errorf("%d messages are still to be lost, and it has connected %d times", gap.lose.Load(), out.Count("up to date"))
	}

	p.Kill()
	p = ledgetest.Start(t, dir, ports...)
	postPictures(p, posted, 5)
	ledgetest.Until(t, "what it missed while Ledge was away", func() bool { return out.Count("saved") == len(posted) })
	holdsPictures(t, folder, posted)

	ledgetest.Until(t, "its place", func() bool { return ledgetest.MustRead(t, filepath.Join(folder, "next")) == nextReading(p) })
	_ = consumer.Process.Kill()
	postPictures(p, posted, 6)
	out, _ = run(p)
	ledgetest.Until(t, "the consumer again", func() bool { return out.Count("up to date") == 1 })
	holdsPictures(t, folder, posted)
	if want := len(posted) / 6; out.Count("saved") != want {
		t.Errorf("started again, it saved %d, want %d: \n%s", out.Count("saved"), want, out)
	}
}

// nextReading is the sequence after the last on the stream.
func nextReading(p *ledgetest.Node) string {
	p.TB.Helper()
	m, err := ledgetest.HistoryConn(p, p.TB).Request("ledge.info", nil, ledgetest.Timeout)
	if err != nil {
		p.TB.Fatal(err)
	}
	var streams map[string]struct{ Last uint64 }
	if err := json.Unmarshal(m.Data, &streams); err != nil {
		p.TB.Fatal(err)
	}
	return strconv.FormatUint(streams["LEDGE_READINGS"].Last+1, 10)
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

// holdsPictures holds that a consumer's folder has these files, its place, and nothing else.
func holdsPictures(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for file := range allFiles(t, folder) {
		if file != "next" && file != "next.new" { // where it goes on, which is being replaced again and again
			got[file] = ledgetest.MustRead(t, filepath.Join(folder, file))
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", sizes(got), sizes(want))
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
