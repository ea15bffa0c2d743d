package api

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"ledge/cmd/ledgetest"
)

// tellingPage tells a server that its script runs, before it is loaded.
const tellingPage = `<!doctype html><html xmlns="http://www.w3.org/1999/xhtml"><script>//<![CDATA[
var x = new XMLHttpRequest(); x.open("GET", "%s/" + encodeURIComponent(location.pathname), false); x.send();
//]]></script><body>shown</body></html>`

const tellingSVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>
var x = new XMLHttpRequest(); x.open("GET", "%s/svg", false); x.send();
</script></svg>`

// TestPostedValuesInABrowser sends a real browser to each route that answers with what somebody has posted: none of it runs,
// and only pictures, sound and films are shown.
func TestPostedValuesInABrowser(t *testing.T) {
	t.Parallel()
	path := ledgetest.FindBrowser()
	if path == "" {
		t.Skip("no browser is installed: Debian's package chromium-headless-shell or chromium")
	}
	var mu sync.Mutex
	var ran []string
	var page string
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/control" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, r.URL.Path)
	}))
	defer evil.Close()
	page = fmt.Sprintf(tellingPage, evil.URL)
	svg := fmt.Sprintf(tellingSVG, evil.URL)
	photo, err := os.ReadFile("../../../docs/tour/photo.jpg")
	if err != nil {
		t.Fatal(err)
	}
	p := ledgetest.Start(t, t.TempDir())
	b := openBrowser(t, path)
	if err := b.open(evil.URL + "/control"); err != "" || len(ran) == 0 {
		t.Fatalf("the page runs nothing at its own origin either: %s, %q", err, ran)
	}
	ran = nil
	var shown, saved []string // addresses
	for mediaType, value := range map[string]string{
		"image/jpeg": string(photo), "audio/wav": silence, "IMAGE/PNG": page, "video/mp4": page,
		"text/html": page, "application/xhtml+xml": page, "text/xml": page, "image/x+xml": page, "image/svg+xml": svg, "IMAGE/SVG+XML; x=y": svg,
		"text/plain": page, "text/javascript": page, "application/pdf": page,
		"multipart/x-mixed-replace; boundary=b": "--b\r\nContent-Type: text/html\r\n\r\n" + page + "\r\n--b--", "image/tiff; x=\"a,text/html\"": page,
	} {
		id := postReading(p, t, fmt.Sprintf(`"valueType":"Binary","mediaType":%q,"binaryValue":%q`, mediaType, base64.StdEncoding.EncodeToString([]byte(value))))
		address := p.CoreData + "/api/v2/reading/id/" + id + "/binary"
		if first, _, _ := strings.Cut(strings.ToLower(mediaType), "/"); slices.Contains([]string{"image", "audio", "video"}, first) && !strings.ContainsAny(mediaType, ",+") {
			shown = append(shown, address)
		} else {
			saved = append(saved, address)
		}
	}
	text, _ := json.Marshal(page)
	for _, fields := range []string{`"valueType":"String","value":` + string(text), `"valueType":"Object","objectValue":{"page":` + string(text) + `}`} {
		saved = append(saved, p.CoreData+"/api/v2/reading/id/"+postReading(p, t, fields)+"/binary")
	}
	script := "%3Cscript%3Enew%20Image().src='" + evil.URL + "/path'%3C%2Fscript%3E"
	shown = append(shown,
		p.CoreData+"/api/v2/reading/all", p.CoreData+"/api/v2/event/all", p.CoreData+"/api/v2/reading/device/name/hall", p.CoreData+"/api/v2/event/device/name/"+script,
		p.Metadata+"/api/v2/device/name/"+script, p.Metadata+"/"+script, p.DeviceREST+"/api/v2/device/name/hall/"+script, p.DeviceREST+"/api/v2/device/name/"+script+"/x",
		p.Notifications+"/api/v2/subscription/name/"+script,
	)
	for _, address := range shown {
		if err := b.open(address); err != "" {
			t.Errorf("%s is not shown: %s", address, err)
		}
	}
	for _, address := range saved {
		if err := b.open(address); err != "net::ERR_ABORTED" {
			t.Errorf("%s: got %q, want it saved\n%v", address, err, p.Call(http.MethodHead, address, "", "").Header)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ran) > 0 {
		t.Errorf("scripts have run: %q", ran)
	}
}

// silence is a file of sound, in WAV.
var silence = "RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x08\x00\x00\x00" + strings.Repeat("\x80", 8)

// postReading posts an event with one reading to the data service and returns the reading's id.
func postReading(p *ledgetest.Node, t *testing.T, fields string) (id string) {
	t.Helper()
	event := uuid.NewString()
	id = uuid.NewString()
	got := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/climate/hall/x", "application/json", fmt.Sprintf(
		`{"apiVersion":"v2","event":{"apiVersion":"v2","id":%q,"deviceName":"hall","profileName":"climate","sourceName":"x","origin":1,"readings":[`+
			`{"id":%q,"origin":1,"deviceName":"hall","profileName":"climate","resourceName":"x",%s}]}}`, event, id, fields))
	if got.Status != http.StatusCreated {
		t.Fatalf("%.200s: %d %s", fields, got.Status, got.Body)
	}
	return id
}

// browser is a tab of a real browser that is told where to go, by Chrome's DevTools protocol over pipes.
type browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	session string
	id      int
	loaded  bool // the page, since open
}

func openBrowser(t *testing.T, path string) *browser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	theirIn, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--mute-audio", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	t.Cleanup(func() { cancel(); _ = cmd.Wait(); to.Close(); from.Close() })
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
	return b
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	m := map[string]any{"id": b.id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, _ := json.Marshal(m) // texts only
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		got := b.next()
		if got.ID != b.id {
			continue
		}
		if len(got.Error) > 0 {
			b.t.Fatalf("%s: %s", method, got.Error)
		}
		if result != nil {
			if err := json.Unmarshal(got.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

type browserMessage struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  json.RawMessage
}

func (b *browser) next() (m browserMessage) {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	if err != nil {
		b.t.Fatalf("the browser: %v", err)
	}
	b.loaded = b.loaded || m.Method == "Page.loadEventFired"
	return m
}

// open goes to an address, as if it were typed, and waits until it is loaded. It returns why nothing is shown; what is saved
// is aborted.
func (b *browser) open(address string) (problem string) {
	b.t.Helper()
	var got struct{ ErrorText string }
	b.loaded = false
	b.call("Page.navigate", map[string]any{"url": address}, &got)
	for got.ErrorText == "" && !b.loaded {
		b.next()
	}
	return got.ErrorText
}
