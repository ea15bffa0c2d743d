package main

import (
	"crypto/sha256"
	"encoding/base64"
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
)

// TestPictureConsumers runs the consumers that docs/reference/taps.md shows: they save what was posted before they began, what
// comes while they listen, while they do not, and while Ledge is away, byte for byte.
func TestPictureConsumers(t *testing.T) {
	t.Parallel()
	doc := mustRead(t, "../../docs/reference/taps.md")
	program := filepath.Join(t.TempDir(), "pictures")
	if out, err := exec.Command("go", "build", "-o", program, "../../docs/tour/pictures").CombinedOutput(); err != nil {
		t.Fatalf("build the consumer: %v\n%s", err, out)
	}
	for shown, command := range map[string][]string{
		"go run ./docs/tour/pictures pictures":   {program},
		"python3 docs/tour/pictures.py pictures": {python, "../../docs/tour/pictures.py"},
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
	p := start(t, dir, ports...)
	posted := map[string]string{} // file name to what it must hold
	removed := p.postPicture(posted, largePicture(0))
	p.call(http.MethodDelete, p.coreData+"/api/v2/event/id/"+p.eventOf(removed), "", "")
	delete(posted, filepath.Join("sample-image", removed+".jpeg"))
	p.postPictures(posted, 1)

	gap := newLossy(t, p.tap)
	run := func(p *process) (*syncBuffer, *exec.Cmd) {
		args := append(slices.Clone(command[1:]), folder, gap.url, p.coreData)
		cmd := exec.Command(command[0], args...)
		return (&shell{t: t}).background(cmd), cmd
	}
	mend := p.spoil(largePicture(1))
	out, consumer := run(p)
	until(t, "the consumer to get no whole picture", func() bool { return p.log.count(`"msg":"answer broke off"`) > 0 })
	mend()
	until(t, "the consumer", func() bool { return out.count("up to date") == 1 })
	holdsPictures(t, folder, posted)
	if out.count(removed+" has been removed") != 1 {
		t.Errorf("it does not say that a picture has been removed:\n%s", out)
	}

	p.postPictures(posted, 2)
	until(t, "live pictures", func() bool { return out.count("saved") == len(posted) })
	holdsPictures(t, folder, posted)

	gap.lose.Store(2)
	p.postPictures(posted, 3)
	p.postPictures(posted, 4)
	until(t, "what was lost on the way", func() bool { return out.count("saved") == len(posted) })
	holdsPictures(t, folder, posted)
	if gap.lose.Load() != 0 || out.count("up to date") != 1 {
		t.Errorf("%d messages are still to be lost, and it has connected %d times", gap.lose.Load(), out.count("up to date"))
	}

	p.kill()
	p = start(t, dir, ports...)
	p.postPictures(posted, 5)
	until(t, "what it missed while Ledge was away", func() bool { return out.count("saved") == len(posted) })
	holdsPictures(t, folder, posted)

	until(t, "its place", func() bool { return mustRead(t, filepath.Join(folder, "next")) == p.nextReading() })
	_ = consumer.Process.Kill()
	p.postPictures(posted, 6)
	out, _ = run(p)
	until(t, "the consumer again", func() bool { return out.count("up to date") == 1 })
	holdsPictures(t, folder, posted)
	if want := len(posted) / 6; out.count("saved") != want {
		t.Errorf("started again, it saved %d, want %d: \n%s", out.count("saved"), want, out)
	}
}

// largePicture is a picture that is kept as a file.
func largePicture(n int) string { return strings.Repeat(fmt.Sprintf("\xff\xd8\r\n%d\x00", n), 100_000) }

// nextReading is the sequence after the last on the stream.
func (p *process) nextReading() string {
	p.tb.Helper()
	m, err := p.historyConn(p.tb).Request("ledge.info", nil, hangs)
	if err != nil {
		p.tb.Fatal(err)
	}
	var streams map[string]struct{ Last uint64 }
	if err := json.Unmarshal(m.Data, &streams); err != nil {
		p.tb.Fatal(err)
	}
	return strconv.FormatUint(streams["LEDGE_READINGS"].Last+1, 10)
}

// spoil changes what is kept of a picture until it is mended.
func (p *process) spoil(picture string) (mend func()) {
	p.tb.Helper()
	file := filepath.Join(p.dir, "payloads", fmt.Sprintf("%x", sha256.Sum256([]byte(picture))))
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			p.tb.Fatal(err)
		}
	}
	if mustRead(p.tb, file) != picture {
		p.tb.Fatalf("%s is not the picture", file)
	}
	write("x" + picture[1:])
	return func() { write(picture) }
}

// postPictures posts a picture below limit-inline-bytes, one above, and an event that has both and a number. It notes them.
func (p *process) postPictures(posted map[string]string, n int) {
	p.tb.Helper()
	small := mustRead(p.tb, "../../docs/tour/photo.jpg") + strconv.Itoa(n)
	p.postPicture(posted, small)
	p.postPicture(posted, largePicture(n))
	event := fmt.Sprintf("6877ff35-5566-5d14-a992-%012d", n)
	p.postPictureEvent(event, small, largePicture(-n))
	for i, picture := range []string{small, largePicture(-n)} {
		posted[filepath.Join("hall", p.readingsOf(event)[i]+".png")] = picture
	}
}

func (p *process) postPicture(posted map[string]string, picture string) (id string) {
	p.tb.Helper()
	if a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", picture); a.status != http.StatusOK {
		p.tb.Fatalf("got %d %s", a.status, a.body)
	}
	var newest listed
	if err := json.Unmarshal([]byte(p.ask(p.coreData+"/api/v2/reading/device/name/sample-image?limit=1", "application/json").body), &newest); err != nil || len(newest.Readings) != 1 {
		p.tb.Fatalf("%v, %d readings", err, len(newest.Readings))
	}
	id = newest.Readings[0].ID
	posted[filepath.Join("sample-image", id+".jpeg")] = picture
	return id
}

// postPictureEvent posts an event as another device service does.
func (p *process) postPictureEvent(id string, pictures ...string) {
	p.tb.Helper()
	var readings []string
	for _, picture := range pictures {
		readings = append(readings, fmt.Sprintf(`{"origin":1,"deviceName":"hall","profileName":"watch","resourceName":"view","valueType":"Binary","mediaType":"image/png","binaryValue":%q}`,
			base64.StdEncoding.EncodeToString([]byte(picture))))
	}
	readings = append(readings, `{"origin":1,"deviceName":"hall","profileName":"watch","resourceName":"count","valueType":"Int8","value":"5"}`)
	body := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"hall","profileName":"watch","sourceName":"all","origin":1,"readings":[%s]}}`, id, strings.Join(readings, ","))
	if a := p.call(http.MethodPost, p.coreData+"/api/v2/event/watch/hall/all", "application/json", body); a.status != http.StatusCreated {
		p.tb.Fatalf("got %d %s", a.status, a.body)
	}
}

func (p *process) readingsOf(event string) (ids []string) {
	p.tb.Helper()
	var e struct {
		Event struct{ Readings []struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(p.ask(p.coreData+"/api/v2/event/id/"+event, "application/json").body), &e); err != nil {
		p.tb.Fatal(err)
	}
	for _, r := range e.Event.Readings {
		ids = append(ids, r.ID)
	}
	return ids
}

// eventOf is the id of the event that has a reading, the newest of its device.
func (p *process) eventOf(reading string) string {
	p.tb.Helper()
	var list struct{ Events []struct{ ID string } }
	if err := json.Unmarshal([]byte(p.ask(p.coreData+"/api/v2/event/device/name/sample-image?limit=1", "application/json").body), &list); err != nil {
		p.tb.Fatal(err)
	}
	if id := list.Events[0].ID; slices.Contains(p.readingsOf(id), reading) {
		return id
	}
	p.tb.Fatalf("the newest event has not the reading %s", reading)
	return ""
}

// holdsPictures holds that a consumer's folder has these files, its place, and nothing else.
func holdsPictures(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for file := range allFiles(t, folder) {
		if file != "next" && file != "next.new" { // where it goes on, which is being replaced again and again
			got[file] = mustRead(t, filepath.Join(folder, file))
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
