package data

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
	"ledge/handlers/web"
)

func TestBinary(t *testing.T) {
	f := mustData(t)
	id := handlerstest.ID(700)
	large := strings.Repeat("\xff", 3*inlineBytes)
	long := strings.Repeat("ü", 600)
	body := posted(id, `"id":"`+handlerstest.ID(701)+`","valueType":"Binary","mediaType":"text/html","binaryValue":"`+strings.Repeat("////", inlineBytes)+`"`,
		`"id":"`+handlerstest.ID(702)+`","valueType":"String","value":"`+long+`"`, `"id":"`+handlerstest.ID(703)+`",`+five)
	if w := handlerstest.Serve(f, "POST", path, body); w.Code != 201 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	url := func(n int) string { return api + "/reading/id/" + handlerstest.ID(n) + "/binary" }
	const image = api + "/reading/id/" + readingID + "/binary"
	etag := func(value string) string { return fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(value))) }
	headers := func(value, kind, disposition string) []string {
		return []string{
			"ETag: " + etag(value), "Content-Type: " + kind, fmt.Sprint("Content-Length: ", len(value)), "Content-Disposition: " + disposition,
			"X-Content-Type-Options: nosniff", "Content-Security-Policy: default-src 'none'; sandbox", "Accept-Ranges: bytes", "Cache-Control: no-cache",
		}
	}
	ask := func(name, method, path string, status int, body string, header ...string) handlerstest.Scenario {
		return handlerstest.Scenario{Name: name, Method: method, Path: path, Status: status, WantBody: body, Header: header}
	}
	with := func(s handlerstest.Scenario, want ...string) handlerstest.Scenario {
		s.WantHeader = want
		return s
	}
	shown := string(picture)
	handlerstest.Run(t, f, f.log, []handlerstest.Scenario{
		with(ask("a picture on the log", "GET", image, 200, shown), headers(shown, "image/jpeg", "inline")...),
		with(ask("a page beside the log", "GET", url(701), 200, large), headers(large, "text/html", "attachment")...),
		with(ask("a long text", "GET", url(702), 200, long), headers(long, "text/plain; charset=utf-8", "attachment")...),
		with(ask("a number", "GET", url(703), 200, "5"), headers("5", "text/plain; charset=utf-8", "attachment")...),
		with(ask("an object", "GET", url(503), 200, `{"fan":"on"}`), headers(`{"fan":"on"}`, "application/json", "attachment")...),
		with(ask("head", "HEAD", url(701), 200, ""), headers(large, "text/html", "attachment")...),
		with(ask("unchanged", "GET", image, 304, "", "If-None-Match: "+etag(shown)), "ETag: "+etag(shown)),
		ask("changed", "GET", image, 200, shown, `If-None-Match: "1"`),
		ask("another", "GET", image, 412, "", `If-Match: "1"`),
		with(ask("a part", "GET", url(701), 206, large[:10], "Range: bytes=100-109"), "Content-Range: bytes 100-109/6000", "Content-Length: 10"),
		with(ask("the end", "GET", image, 206, shown[97:], "Range: bytes=-3"), "Content-Range: bytes 97-99/100"),
		with(ask("a part's head", "HEAD", image, 206, "", "Range: bytes=0-1"), "Content-Length: 2"),
		ask("beyond", "GET", image, 416, "", "Range: bytes=100-"),
		ask("in a unit that nobody knows", "GET", image, 200, shown, "Range: lines=1-2"),
		ask("unknown", "GET", url(704), 404, ""),
		ask("no UUID", "GET", api+"/reading/id/x/binary", 400, ""),
	})
	several := handlerstest.Serve(f, "GET", image, "", "Range: bytes=0-1,98-99")
	if kind := several.Header().Get("Content-Type"); several.Code != 206 || !strings.HasPrefix(kind, "multipart/byteranges; boundary=") || strings.Count(several.Body.String(), "Content-Range: bytes ") != 2 {
		t.Errorf("several parts: got %d %s %q", several.Code, kind, several.Body)
	}
	for match, want := range map[string]int{etag(shown): 206, `"1"`: 200} {
		if w := handlerstest.Serve(f, "GET", image, "", "Range: bytes=0-1", "If-Range: "+match); w.Code != want {
			t.Errorf("If-Range %s: got %d, want %d", match, w.Code, want)
		}
	}
}

// A picture is shown, but nothing that could run a script.
func TestDisposition(t *testing.T) {
	for kind, want := range map[string]string{
		"image/png": "inline", "IMAGE/JPEG": "inline", "video/mp4": "inline", "audio/ogg": "inline",
		"image/avif": "inline", "image/png; q=1": "inline",
		"image/png, text/html": "attachment", "video/mp4,text/html": "attachment", "image/x+xml": "attachment", "audio/x+XML": "attachment", "image/SVG": "attachment",
		"image/png;": "inline", "image/png; =": "attachment", "text/plain": "attachment", "application/json": "attachment", "imagex/png": "attachment",
		"image/svg+xml": "attachment", "text/html": "attachment", "text/javascript": "attachment", "application/pdf": "attachment", "": "attachment",
	} {
		h := map[string][]string{}
		protect(h, kind)
		if got := h["Content-Disposition"][0]; got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
		policy := web.Sandbox
		if want == "inline" && !strings.HasPrefix(strings.ToLower(kind), "image/") {
			policy = playable
		}
		if got := h["Content-Security-Policy"][0]; got != policy {
			t.Errorf("%s: got %s, want %s", kind, got, policy)
		}
	}
}
