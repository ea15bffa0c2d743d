package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// caller is a client that writes its requests by hand.
type caller struct {
	tb testing.TB
	net.Conn
	in *bufio.Reader
}

func dial(p *ledgetest.Node) *caller {
	p.TB.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.DeviceREST, "http://"))
	if err != nil {
		p.TB.Fatal(err)
	}
	p.TB.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(ledgetest.Timeout))
	return &caller{p.TB, conn, bufio.NewReader(conn)}
}

// send begins a POST of an image; headers are lines.
func (c *caller) send(body string, headers ...string) {
	c.sendTo("sample-image/jpeg", body, append(headers, "Content-Type: image/jpeg")...)
}

func (c *caller) sendTo(resource, body string, headers ...string) {
	c.tb.Helper()
	c.write("POST /api/v2/resource/" + resource + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body)
}

func (c *caller) write(text string) {
	c.tb.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.tb.Fatal(err)
	}
}

// answer returns the status of the next answer, 100 among them, and what it says.
func (c *caller) answer() (status int, body string) {
	c.tb.Helper()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.tb.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		c.tb.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// want holds that the next answer has a status.
func (c *caller) want(what string, status int) {
	c.tb.Helper()
	if got, body := c.answer(); got != status {
		c.tb.Errorf("%s: got %d %s, want %d", what, got, body, status)
	}
}

// holdsReadings holds that so many readings are on record, and nothing of others is kept.
func holdsReadings(p *ledgetest.Node, readings, files int) {
	p.TB.Helper()
	ledgetest.Until(p.TB, fmt.Sprintf("%d payloads, of %v", files, ledgetest.Payloads(p)), func() bool { return len(ledgetest.Payloads(p)) == files })
	n := 0
	for _, f := range ledgetest.Facts(p.TB, p.Dir) {
		if strings.HasPrefix(f.Type, "reading.") {
			n++
		}
	}
	if n != readings {
		p.TB.Errorf("%d readings on record, want %d", n, readings)
	}
}

// limitedProfile has resources with limits of their own.
const limitedProfile = `
name: limited
deviceResources:
  - {name: small, attributes: {maxBodyBytes: 10}, properties: {valueType: Binary, readWrite: R, mediaType: image/jpeg}}
  - {name: large, attributes: {maxBodyBytes: 2MiB}, properties: {valueType: Binary, readWrite: R, mediaType: image/jpeg}}
  - {name: odd, attributes: {maxBodyBytes: {a: b}}, properties: {valueType: Binary, readWrite: R, mediaType: image/jpeg}}
`

func addLimited(p *ledgetest.Node) {
	p.TB.Helper()
	if a := p.Upload("file", limitedProfile); a.Status != http.StatusCreated {
		p.TB.Fatalf("%d %s", a.Status, a.Body)
	}
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", "["+strings.Replace(ledgetest.DeviceJSON("cam-limited"), "sample-image", "limited", 1)+"]", http.StatusCreated)
}

// TestRefusedUploads holds that what can be refused is refused before the client is told to go on, and that what cannot is
// taken.
func TestRefusedUploads(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	addLimited(p)
	for _, test := range []struct {
		resource, media string
		length          int
		status          int
		header          string
	}{
		{"nosuch/jpeg", "image/jpeg", 1000, 404, ""},
		{"sample-image/nosuch", "image/jpeg", 1000, 404, ""},
		{"sample-image/jpeg", "image/png", 1000, 400, ""},
		{"sample-image/jpeg", "image/jpeg", 256<<20 + 1, 413, ""},
		{"sample-image/jpeg", "image/jpeg", 1000, 415, "Content-Encoding: br"},
		{"sample-image/jpeg", "image/jpeg", 1000, 400, "Idempotency-Key: a b"},
		{"cam-limited/small", "image/jpeg", 11, 413, ""},
		{"cam-limited/odd", "image/jpeg", 1, 400, ""},
		{"cam-limited/large", "image/jpeg", 2<<20 + 1, 413, ""},
	} {
		headers := []string{"Content-Type: " + test.media, fmt.Sprint("Content-Length: ", test.length)}
		if test.header != "" {
			headers = append(headers, test.header)
		}
		what := fmt.Sprintf("%s, %d bytes of %s %s", test.resource, test.length, test.media, test.header)
		c := dial(p)
		c.sendTo(test.resource, "", append(headers, "Expect: 100-continue")...)
		c.want(what, test.status)
	}
	for resource, body := range map[string]string{"sample-image/jpeg": "short", "cam-limited/small": "0123456789", "cam-limited/large": strings.Repeat("x", 2<<20)} {
		c := dial(p)
		c.sendTo(resource, "", "Content-Type: image/jpeg", fmt.Sprint("Content-Length: ", len(body)), "Expect: 100-continue")
		c.want(resource+", before the body", 100)
		c.write(body)
		c.want(resource, 200)
	}
	holdsReadings(p, 3, 1)
}

// TestChunkedUploads holds that a body without a declared length is as long as it may be, whatever its chunks.
func TestChunkedUploads(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	addLimited(p)
	chunk := "8000\r\n" + strings.Repeat("x", 0x8000) + "\r\n"
	c := dial(p)
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 64)+"0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg")
	c.want("at the limit", 200)
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 2)+"0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg")
	c.want("short, on the same connection", 200)
	c = dial(p)
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 64)+"1\r\nx\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg") // its end is not in sight
	c.want("over the limit", 413)
	c = dial(p)
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 40)+"no chunk\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg")
	c.want("broken", 400)
	holdsReadings(p, 2, 1)
}

// TestCompressedUploads holds that a bomb ends at the limit, and that what was compressed is the same body.
func TestCompressedUploads(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	addLimited(p)
	body := strings.Repeat("picture", 1<<18)
	var small, bomb bytes.Buffer
	for _, one := range []struct {
		to   *bytes.Buffer
		text string
		n    int
	}{{&small, body, 1}, {&bomb, strings.Repeat("\x00", 1<<20), 300}} {
		w := gzip.NewWriter(one.to)
		for range one.n {
			_, _ = io.WriteString(w, one.text)
		}
		_ = w.Close()
	}
	c := dial(p)
	c.sendTo("cam-limited/large", small.String(), "Content-Encoding: gzip", fmt.Sprint("Content-Length: ", small.Len()), "Content-Type: image/jpeg")
	c.want("compressed", 200)
	c.sendTo("cam-limited/large", body, fmt.Sprint("Content-Length: ", len(body)), "Content-Type: image/jpeg")
	c.want("as it is", 200)
	c = dial(p)
	c.sendTo("cam-limited/large", bomb.String(), "Content-Encoding: gzip", fmt.Sprint("Content-Length: ", bomb.Len()), "Content-Type: image/jpeg")
	c.want("a bomb", 413)
	holdsReadings(p, 2, 1)
	for _, file := range ledgetest.Payloads(p) {
		ledgetest.CheckPayload(t, p.Dir, filepath.Base(file))
	}
	checkPeak(p)
}

// TestBrokenUploads holds that of clients that die or lie nothing is kept.
func TestBrokenUploads(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	half := strings.Repeat("x", 1<<20)
	for _, headers := range []string{fmt.Sprint("Content-Length: ", 2<<20), "Transfer-Encoding: chunked"} {
		body := half
		if strings.HasPrefix(headers, "Transfer") {
			body = fmt.Sprintf("%x\r\n%s", 2<<20, half)
		}
		c := dial(p)
		c.send(body, headers)
		ledgetest.Until(t, "the body to arrive", func() bool { return len(ledgetest.Payloads(p)) > 0 })
		_ = c.Close()
		ledgetest.Until(t, "the end of a client that died", func() bool { return len(ledgetest.Payloads(p)) == 0 })
		c = dial(p)
		c.send(body, headers)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		c.want("shorter than it says", 400)
	}
	c := dial(p)
	c.send("12345 and more\r\n\r\n", "Content-Length: 5")
	c.want("longer than it says", 200)
	c.want("the rest, which is not a request", 400)
	holdsReadings(p, 1, 0)
	if a := p.PostImage(ledgetest.LargeBody); a.Status != 200 {
		t.Errorf("after them: %d %s", a.Status, a.Body)
	}
}

// TestRefusalsOfAFullDiskAreCounted holds that metrics have them, whether a value would be on the log or a file.
func TestRefusalsOfAFullDiskAreCounted(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir(), "--disk-reserve", ledgetest.BelowReadings(t))
	for _, size := range []int{100, 300 << 10} {
		a := p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat("x", size))
		ledgetest.Must(t, fmt.Sprint(size, " bytes"), http.StatusInsufficientStorage, a.Status, a.Body)
	}
	if a := p.Call(http.MethodGet, p.CoreData+"/metrics", "", ""); !strings.Contains(a.Body, `ledge_stream_refused_total{stream="LEDGE_READINGS"} 2`) {
		t.Errorf("got %s", a.Body)
	}
	ledgetest.MustHealth(p, t, p.DeviceREST, http.StatusServiceUnavailable)
}

// TestKeyOfAnotherBody holds that a body that was kept before it was refused is collected while Ledge runs.
func TestKeyOfAnotherBody(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	for i, status := range []int{200, 422, 200} {
		body := fmt.Sprint(i%2, ledgetest.LargeBody)
		c := dial(p)
		c.send(body, "Idempotency-Key: k", fmt.Sprint("Content-Length: ", len(body)))
		c.want(fmt.Sprint("post ", i), status)
	}
	holdsReadings(p, 1, 1)
}
