package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/store/osfile"
)

// caller is a client that writes its requests by hand.
type caller struct {
	tb testing.TB
	net.Conn
	in *bufio.Reader
}

func (p *process) dial() *caller {
	p.tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.deviceREST, "http://"))
	if err != nil {
		p.tb.Fatal(err)
	}
	p.tb.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(hangs))
	return &caller{p.tb, conn, bufio.NewReader(conn)}
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
func (p *process) holdsReadings(readings, files int) {
	p.tb.Helper()
	until(p.tb, fmt.Sprintf("%d payloads, of %v", files, p.payloads()), func() bool { return len(p.payloads()) == files })
	n := 0
	for _, f := range facts(p.tb, p.dir) {
		if strings.HasPrefix(f.Type, "reading.") {
			n++
		}
	}
	if n != readings {
		p.tb.Errorf("%d readings on record, want %d", n, readings)
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

func (p *process) addLimited() {
	p.tb.Helper()
	if a := p.upload("file", limitedProfile); a.status != http.StatusCreated {
		p.tb.Fatalf("%d %s", a.status, a.body)
	}
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/device", "["+strings.Replace(deviceJSON("cam-limited"), "sample-image", "limited", 1)+"]", http.StatusCreated)
}

// TestRefusedUploads holds that what can be refused is refused before the client is told to go on, and that what cannot is
// taken.
func TestRefusedUploads(t *testing.T) {
	p := start(t, t.TempDir())
	p.addLimited()
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
		c := p.dial()
		c.sendTo(test.resource, "", append(headers, "Expect: 100-continue")...)
		c.want(what, test.status)
	}
	for resource, body := range map[string]string{"sample-image/jpeg": "short", "cam-limited/small": "0123456789", "cam-limited/large": strings.Repeat("x", 2<<20)} {
		c := p.dial()
		c.sendTo(resource, "", "Content-Type: image/jpeg", fmt.Sprint("Content-Length: ", len(body)), "Expect: 100-continue")
		c.want(resource+", before the body", 100)
		c.write(body)
		c.want(resource, 200)
	}
	p.holdsReadings(3, 1)
}

// TestChunkedUploads holds that a body without a declared length is as long as it may be, whatever its chunks.
func TestChunkedUploads(t *testing.T) {
	p := start(t, t.TempDir())
	p.addLimited()
	chunk := "8000\r\n" + strings.Repeat("x", 0x8000) + "\r\n"
	c := p.dial()
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 64)+"0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg")
	c.want("at the limit", 200)
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 2)+"0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg")
	c.want("short, on the same connection", 200)
	c = p.dial()
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 64)+"1\r\nx\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg") // its end is not in sight
	c.want("over the limit", 413)
	c = p.dial()
	c.sendTo("cam-limited/large", strings.Repeat(chunk, 40)+"no chunk\r\n", "Transfer-Encoding: chunked", "Content-Type: image/jpeg")
	c.want("broken", 400)
	p.holdsReadings(2, 1)
}

// TestCompressedUploads holds that a bomb ends at the limit, and that what was compressed is the same body.
func TestCompressedUploads(t *testing.T) {
	p := start(t, t.TempDir())
	p.addLimited()
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
	c := p.dial()
	c.sendTo("cam-limited/large", small.String(), "Content-Encoding: gzip", fmt.Sprint("Content-Length: ", small.Len()), "Content-Type: image/jpeg")
	c.want("compressed", 200)
	c.sendTo("cam-limited/large", body, fmt.Sprint("Content-Length: ", len(body)), "Content-Type: image/jpeg")
	c.want("as it is", 200)
	c = p.dial()
	c.sendTo("cam-limited/large", bomb.String(), "Content-Encoding: gzip", fmt.Sprint("Content-Length: ", bomb.Len()), "Content-Type: image/jpeg")
	c.want("a bomb", 413)
	p.holdsReadings(2, 1)
	for _, file := range p.payloads() {
		checkPayload(t, p.dir, filepath.Base(file))
	}
	p.checkPeak()
}

// TestBrokenUploads holds that of clients that die or lie nothing is kept.
func TestBrokenUploads(t *testing.T) {
	p := start(t, t.TempDir())
	half := strings.Repeat("x", 1<<20)
	for _, headers := range []string{fmt.Sprint("Content-Length: ", 2<<20), "Transfer-Encoding: chunked"} {
		body := half
		if strings.HasPrefix(headers, "Transfer") {
			body = fmt.Sprintf("%x\r\n%s", 2<<20, half)
		}
		c := p.dial()
		c.send(body, headers)
		until(t, "the body to arrive", func() bool { return len(p.payloads()) > 0 })
		_ = c.Close()
		until(t, "the end of a client that died", func() bool { return len(p.payloads()) == 0 })
		c = p.dial()
		c.send(body, headers)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		c.want("shorter than it says", 400)
	}
	c := p.dial()
	c.send("12345 and more\r\n\r\n", "Content-Length: 5")
	c.want("longer than it says", 200)
	c.want("the rest, which is no request", 400)
	p.holdsReadings(1, 0)
	if a := p.postImage(largeBody); a.status != 200 {
		t.Errorf("after them: %d %s", a.status, a.body)
	}
}

// TestRefusalsOfAFullDiskAreCounted holds that metrics have them, whether a value would be on the log or a file.
func TestRefusalsOfAFullDiskAreCounted(t *testing.T) {
	p := start(t, t.TempDir(), "--disk-reserve", belowReadings(t))
	for _, size := range []int{100, 300 << 10} {
		a := p.call(http.MethodPost, p.deviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat("x", size))
		must(t, fmt.Sprint(size, " bytes"), http.StatusInsufficientStorage, a.status, a.body)
	}
	if a := p.call(http.MethodGet, p.coreData+"/metrics", "", ""); !strings.Contains(a.body, `ledge_stream_refused_total{stream="LEDGE_READINGS"} 2`) {
		t.Errorf("got %s", a.body)
	}
	p.mustHealth(t, p.deviceREST, http.StatusServiceUnavailable)
}

// TestKeyOfAnotherBody holds that a body that was kept before it was refused is collected while Ledge runs.
func TestKeyOfAnotherBody(t *testing.T) {
	p := start(t, t.TempDir())
	for i, status := range []int{200, 422, 200} {
		body := fmt.Sprint(i%2, largeBody)
		c := p.dial()
		c.send(body, "Idempotency-Key: k", fmt.Sprint("Content-Length: ", len(body)))
		c.want(fmt.Sprint("post ", i), status)
	}
	p.holdsReadings(1, 1)
}

// belowReadings is a reserve of which a test's folder has more free and four times as much not: readings are refused, changes are not.
func belowReadings(t *testing.T) string {
	t.Helper()
	free, err := osfile.FreeBytes(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatUint(free/2, 10)
}
