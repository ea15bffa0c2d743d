package handlers_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// addService is an element of a batch of device services, which need nothing else to be there.
type addService struct {
	handlers.Head
	Service struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
		On   *bool    `json:"on"`
		Size int8     `json:"size"`
	} `json:"service"`
}

// mustService returns a service with a batch route and a route that panics.
func mustService(tb testing.TB, change func(*handlers.Options)) (http.Handler, *handlerstest.Log) {
	tb.Helper()
	log := handlerstest.NewLog()
	return serviceOn(log, change), log
}

func serviceOn(log *handlerstest.Log, change func(*handlers.Options)) http.Handler {
	o := handlerstest.Options("core-metadata")
	if change != nil {
		change(&o)
	}
	s := handlers.NewService(o)
	a := s.API(handlers.V2)
	add := handlers.Batch(a, log, "service", func(e *addService, at int64) handlers.Order {
		d := domain.DeviceService{Name: e.Service.Name, BaseAddress: "http://h:1", AdminState: "UNLOCKED"}
		p := d.Check()
		d.ID, d.Created, d.Modified = a.NewID(), at, at
		return handlers.Order{Command: domain.AddService{Service: d}, ID: d.ID, Problems: p}
	})
	remove := handlers.Remove(a, log, "name", func(string) domain.Command { panic("boom") })
	a.Serve([]handlers.Route{
		{Method: "POST", Path: "/service", Right: domain.MayChange, Handle: add},
		{Method: "PATCH", Path: "/service", Right: domain.MayChange, Handle: add},
		{Method: "POST", Path: "/otherpath", Right: domain.MayChange, Handle: add},
		{Method: "DELETE", Path: "/service/name/:name", Right: domain.MayChange, Handle: remove},
	})
	return s
}

func service(name string) string {
	return `[{"apiVersion":"v2","service":{"name":"` + name + `"}}]`
}

// mustListen serves h on a socket.
func mustListen(tb testing.TB, h http.Handler) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s
}

// mustDial returns a raw connection to s.
func mustDial(tb testing.TB, s *httptest.Server) net.Conn {
	tb.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // a test that hangs should say where
	return c
}

func mustWrite(tb testing.TB, c net.Conn, lines ...string) {
	tb.Helper()
	if _, err := fmt.Fprint(c, strings.Join(lines, "\r\n")); err != nil {
		tb.Fatal(err)
	}
}
