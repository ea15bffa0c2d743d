package console

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/openapi"
)

// System tells of the program itself.
type System interface {
	// Settings are all settings. They have no secrets.
	Settings() []Setting
	Versions() []Versioned
	Status() Status
	Disk() Disk
	// Endpoints are the endpoints with waiting or failed deliveries, the worst first.
	Endpoints() []domain.EndpointState
	// TryNow sends the waiting transmissions of a channel's endpoint now. It returns their number.
	TryNow(domain.Channel) int
	// TryTransmission makes a try of an open transmission now, which is on record. It reports false if the transmission is being tried, or
	// waits for an earlier one about the same device.
	TryTransmission(domain.Transmission) bool
	// Callbacks are the last calls of a device service, one for each kind of entity, and how many wait for it.
	Callbacks(service string) (last []Callback, waiting int)
}

// Callback is a call of a device service about a change, and what came of it.
type Callback struct {
	Kind, Entity, Method, Answer string
	At                           int64 // in milliseconds since the Unix epoch
	Accepted                     bool
}

// Setting is a setting as it is in force. Changed says that its value is not the default.
type Setting struct {
	Name, Value, Default, Source, Help string
	Changed                            bool
}

// rank puts settings that somebody has changed first.
func (s Setting) rank() int {
	if s.Changed {
		return 0
	}
	return 1
}

// Versioned is a part of the program with its version.
type Versioned struct{ What, Version string }

// Status is how the program does now.
type Status struct {
	Space
	// Troubles are warnings for the operator.
	Troubles []string
	// The rates are those of the last seconds.
	ChangesPerSecond, ReadingsPerSecond float64
}

// Space is the room on the disk of the data folder, in bytes.
type Space struct {
	// UsedBytes is the size of the logs and of the posted files beside them, FreeBytes the free disk space, TotalBytes the size of the
	// disk; 0 if the system does not tell.
	UsedBytes, FreeBytes, TotalBytes int64
	Percent                          int // of the disk that are used
}

// Disk is how the disk is used, and when it ends.
type Disk struct {
	Space
	Parts []DiskPart
	Own   int64 // what Ledge uses in all
	// Below ReadingsReserve of free space readings are refused, below ChangesReserve changes.
	ReadingsReserve, ChangesReserve int64
	// At ReadingsMax the oldest readings are removed, at NotificationsMax the oldest notifications; 0 for no limit.
	ReadingsMax, NotificationsMax int64
	Max                           int64         // that the data folder may take; 0 for no limit
	ReadingsAge, NotificationsAge time.Duration // at which they are removed; 0 for no limit
}

// DiskPart is what Ledge uses for one purpose.
type DiskPart struct {
	What  string
	Bytes int64
}

// Access tells which clients may use the REST services. Open says that nobody needs a login.
type Access struct {
	Open bool
	Says string
}

// documented returns the services, each of which has an OpenAPI document.
func (s systemPages) documented() []string { return slices.Sorted(maps.Keys(s.Services)) }

// systemPages are the pages of the program and of its APIs.
type systemPages struct {
	*web.Site
	system System
	ledger Ledger
	access Access
}

func (s systemPages) Routes() []web.Route {
	return []web.Route{
		web.Get("/system", domain.MayRead, s.showSystem),
		web.Get("/system/api/:service/openapi.yaml", domain.MayRead, s.apiDocument),
		web.Get("/system/api/:service/docs", domain.MayRead, s.apiPage),
		web.Get("/system/api/:service/docs/:file", domain.MayRead, s.apiFile),
	}
}

type systemData struct {
	Settings     []Setting
	Changed      int
	Versions     []Versioned
	Services     []string
	Troubles     []string
	Verification Verification
	Disk         Disk
	Access       Access
}

func (s systemPages) showSystem(c *gin.Context) error {
	d := systemData{
		Settings: s.system.Settings(), Versions: s.system.Versions(), Services: s.documented(), Troubles: s.system.Status().Troubles,
		Verification: s.ledger.Verification(), Disk: s.system.Disk(), Access: s.access,
	}
	slices.SortStableFunc(d.Settings, func(a, b Setting) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, one := range d.Settings {
		if one.Changed {
			d.Changed++
		}
	}
	return s.Show(c, http.StatusOK, "system", web.Page{Title: "System", Data: d})
}

func (s systemPages) apiDocument(c *gin.Context) error { return s.forwardDocument(c, "/openapi.yaml") }
func (s systemPages) apiPage(c *gin.Context) error     { return s.forwardDocument(c, "/docs") }
func (s systemPages) apiFile(c *gin.Context) error {
	return s.forwardDocument(c, "/docs/"+c.Param("file"))
}

// forwardDocument serves a file of the page of an API, with the policy that the page needs, which lets it load from the console only.
func (s systemPages) forwardDocument(c *gin.Context, path string) error {
	service := c.Param("service")
	if s.Services[service] == nil || strings.ContainsAny(path, "?#%\\") || strings.Contains(path, "..") {
		return s.NotFound(c)
	}
	c.Header("Content-Security-Policy", openapi.Policy)
	return s.Forward(c, service, http.MethodGet, web.API+path,
		"If-None-Match", c.GetHeader("If-None-Match"), "Accept-Encoding", c.GetHeader("Accept-Encoding"))
}
