// Package commandtest has a device service for tests: an HTTP server that carries out commands as EdgeX's device SDK 2.3 does, and some
// that misbehave.
package commandtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"

	"ledge/domain"
)

// Profile returns a device profile with a resource of each type, which is read and written, and a device command that writes it and turns
// its random values off, as EdgeX's device-virtual has.
func Profile(name string, types ...string) domain.Profile {
	p := domain.Profile{ID: uuid.NewString(), Name: name}
	for _, t := range types {
		enable := "EnableRandomization_" + t
		p.DeviceResources = append(p.DeviceResources,
			domain.DeviceResource{Name: t, Properties: domain.ResourceProperties{ValueType: t, ReadWrite: "RW"}},
			domain.DeviceResource{Name: enable, IsHidden: true, Properties: domain.ResourceProperties{ValueType: "Bool", ReadWrite: "W"}})
		p.DeviceCommands = append(p.DeviceCommands, domain.DeviceCommand{
			Name: "Write" + t + "Value", ReadWrite: "W", ResourceOperations: []domain.ResourceOperation{{DeviceResource: t},
				{DeviceResource: enable}},
		})
	}
	return p
}

// Call is a request that a Service has had, but for callbacks.
type Call struct {
	Method, URI, Body string
	Header            http.Header
}

// Service is a device service for devices with profiles of Profile. Some names of commands have it misbehave: see answer.
type Service struct {
	*httptest.Server

	mu    sync.Mutex
	calls []Call
	ended chan struct{}
}

// Start returns a device service that runs until the end of the test.
func Start(tb testing.TB) *Service {
	s := &Service{ended: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	tb.Cleanup(func() { close(s.ended); s.Close() })
	return s
}

// Calls returns the requests so far, the first first.
func (s *Service) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, below, _ := strings.Cut(r.URL.Path, "/api/v2/device/name/")
	device, command, ok := strings.Cut(below, "/")
	if !ok { // a callback, or a validation
		replyJSON(w, http.StatusOK, `{"apiVersion":"v2","statusCode":200}`+"\n")
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, Call{r.Method, r.URL.RequestURI(), string(body), r.Header.Clone()})
	s.mu.Unlock()
	if s.misbehave(w, r, command) {
		return
	}
	if r.Method == http.MethodPut {
		setValue(w, command, body)
		return
	}
	readValue(w, r, device, command)
}

// readings begins an event, up to its readings.
const readings = `{"apiVersion":"v2","statusCode":200,"event":{"apiVersion":"v2","readings":[`

// misbehave answers a command that has a special name:
//
//	Slow        is not answered
//	Broken      the connection ends without an answer
//	Endless     an answer without an end
//	Large-N     an event of about N bytes
//	Status-N    an error with the status N
//	Redirect    a redirect to another host
//	Circle      a redirect to itself
//	Text        a text that is not JSON
//	Secret      an error that is not EdgeX's
//	Other       JSON of another program
//	Many        an event with very many readings
//	Binary      an event with a binary value, in CBOR
//	Object      an event with an object, and members that EdgeX does not have
func (s *Service) misbehave(w http.ResponseWriter, r *http.Request, command string) bool {
	name, number, _ := strings.Cut(command, "-")
	n, _ := strconv.Atoi(number)
	switch name {
	case "Slow":
		select {
		case <-r.Context().Done():
		case <-s.ended:
		}
	case "Broken":
		panic(http.ErrAbortHandler)
	case "Endless":
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("0", 64<<10)); err != nil {
				return true
			}
		}
	case "Large":
		replyJSON(w, http.StatusOK, readings+`{"value":"`+strings.Repeat("x", n)+`"}]}}`)
	case "Many":
		replyJSON(w, http.StatusOK, readings+"{}"+strings.Repeat(",{}", n)+"]}}")
	case "Status":
		replyError(w, n, "device service says "+number)
	case "Redirect":
		http.Redirect(w, r, "http://192.0.2.1/secret", http.StatusFound)
	case "Circle":
		http.Redirect(w, r, r.URL.RequestURI(), http.StatusTemporaryRedirect)
	case "Text":
		replyJSON(w, http.StatusOK, "root:x:0:0")
	case "Secret":
		replyJSON(w, http.StatusInternalServerError, `{"password":"hunter2"}`)
	case "Other":
		replyJSON(w, http.StatusOK, `{"password":"hunter2"}`)
	case "Binary":
		text, _ := cbor.Marshal(map[string]any{"apiVersion": "v2", "statusCode": 200, "event": map[string]any{
			"apiVersion": "v2", "id": "e", "deviceName": "d", "profileName": "p", "sourceName": "Binary", "origin": 7,
			"tags": map[string]any{"site": "north"},
			"readings": []any{map[string]any{
				"id": "r", "origin": 7, "deviceName": "d", "resourceName": "Binary", "profileName": "p", "valueType": "Binary",
				"binaryValue": []byte{0xff, 0xd8}, "mediaType": "image/jpeg",
			}},
		}})
		w.Header().Set("Content-Type", "application/cbor")
		_, _ = w.Write(text)
	case "Object":
		replyJSON(w, http.StatusOK, `{"apiVersion":"v2","requestId":"q","statusCode":200,"password":"hunter2","event":{"apiVersion":"v2",`+
			`"id":"e","deviceName":"d","profileName":"p","sourceName":"Object",`+
			`"origin":7,"secret":"hunter2","readings":[{"id":"r","origin":7,"deviceName":"d","resourceName":"Object",`+
			`"profileName":"p","valueType":"Object","objectValue":{"n":12345678901234567890}}]}}`)
	default:
		return false
	}
	return true
}

// bits are the sizes of the integer types that the service knows.
var bits = map[string]int{"Int8": 8, "Int16": 16, "Int32": 32, "Int64": 64}

func readValue(w http.ResponseWriter, r *http.Request, device, command string) {
	value := map[string]string{"Bool": "false", "Float32": "2.812823e+37"}[command]
	switch _, integer := bits[command]; {
	case strings.HasPrefix(command, "Write"), strings.HasPrefix(command, "EnableRandomization"):
		replyError(w, http.StatusMethodNotAllowed, "deviceCommand "+command+" is marked as write-only")
		return
	case integer:
		value = "11"
	case value == "":
		replyError(w, http.StatusNotFound, "deviceResource "+command+" not found")
		return
	}
	if r.URL.Query().Get("ds-returnevent") == "no" {
		return
	}
	replyJSON(w, http.StatusOK, fmt.Sprintf(`{"apiVersion":"v2","statusCode":200,"event":{"apiVersion":"v2","id":%q,"deviceName":%q,`+
		`"profileName":%q,"sourceName":%q,"origin":1795772499442339377,`+
		`"readings":[{"id":%q,"origin":1795772499442339377,"deviceName":%q,"resourceName":%q,"profileName":%q,"valueType":%q,`+
		`"value":%q}]}}`+"\n",
		uuid.NewString(), device, device, command, uuid.NewString(), device, command, device, command, value))
}

func setValue(w http.ResponseWriter, command string, body []byte) {
	var values map[string]any
	if err := json.Unmarshal(body, &values); err != nil {
		replyError(w, http.StatusInternalServerError, "failed to parse request body")
		return
	}
	resource := strings.TrimSuffix(strings.TrimPrefix(command, "Write"), "Value")
	size, ok := bits[resource]
	if !ok {
		replyError(w, http.StatusNotFound, "deviceResource "+command+" not found")
		return
	}
	if value, ok := values[resource]; ok {
		if _, err := strconv.ParseInt(fmt.Sprint(value), 10, size); err != nil {
			replyError(w, http.StatusInternalServerError, fmt.Sprintf("failed to create CommandValue -> failed to convert set "+
				"parameter %v "+
				"to ValueType %s -> %v", value, resource, err))
			return
		}
	}
	replyJSON(w, http.StatusOK, `{"apiVersion":"v2","statusCode":200}`+"\n")
}

func replyError(w http.ResponseWriter, status int, message string) {
	text, _ := json.Marshal(struct {
		APIVersion string `json:"apiVersion"`
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
	}{"v2", message, status})
	replyJSON(w, status, string(text))
}

func replyJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
