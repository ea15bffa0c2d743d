package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRegistrations holds the body that Consul's documentation of PUT /v1/agent/service/register has, for each form of address.
func TestRegistrations(t *testing.T) {
	const form = `{"ID":"core-metadata","Name":"core-metadata","Address":%q,"Port":%d,"Check":{"CheckID":"core-metadata",` +
		`"Name":"Health Check: core-metadata","Notes":"Check the health of the API","HTTP":"%s/api/v2/ping","Interval":"10s",` +
		`"TLSSkipVerify":%t}}`
	for url, want := range map[string]string{
		"http://10.0.0.5:59881": fmt.Sprintf(form, "10.0.0.5", 59881, "http://10.0.0.5:59881", false),
		"https://[fd00::5]:1":   fmt.Sprintf(form, "fd00::5", 1, "https://[fd00::5]:1", true),
	} {
		body, err := newRegistration(Service{Name: "core-metadata", URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(body); string(got) != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}

// TestAnswersAreBounded has Consul answer in ways that are not its own: without end, and with a redirect.
func TestAnswersAreBounded(t *testing.T) {
	paths := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		switch r.Header.Get("X-Consul-Token") {
		case "endless":
			w.WriteHeader(http.StatusInternalServerError)
			for {
				if _, err := io.WriteString(w, strings.Repeat("endless \x1b", 1000)); err != nil {
					return
				}
			}
		case "redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	for token, want := range map[string]string{
		"endless":  "core-metadata: Consul answered 500 \"endless \ufffdendless",
		"redirect": "core-metadata: Consul answered 307 \"\"; look at the log of Consul",
		"":         "",
	} {
		at := server.Listener.Addr().String()
		r := New(Options{Address: at, Token: token, Dial: new(net.Dialer).DialContext, Logger: slog.New(slog.DiscardHandler)})
		err := r.register(t.Context(), Service{Name: "core-metadata", URL: "http://10.0.0.5:59881"})
		if got := errorText(err); !strings.HasPrefix(got, want) || len(got) > 500 || (err == nil) != (want == "") {
			t.Errorf("%s: got %q, want %q", token, got, want)
		}
		if path := <-paths; path != "/v1/agent/service/register" || len(paths) > 0 {
			t.Errorf("%s: asked %s, and %d more", token, path, len(paths))
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
