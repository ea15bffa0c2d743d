// Package command is EdgeX's core-command: it lists the commands of devices, and sends commands to their device services.
//
// A GET reads from a device and a PUT writes to it. [DeviceServices] sends both to the base address of the device service. The answers are
// EdgeX 2.3's, to the byte. Unlike EdgeX, core-command itself refuses commands if a device or a device service is LOCKED, or a device is
// DOWN. The refusal is the one of EdgeX's device SDK, and does not wait for a callback.
//
// Each PUT to a device that exists is on record before it is sent, and its outcome before it is answered, see [domain.CommandIssued] and
// [domain.CommandAnswered].
package command

import (
	"context"
	_ "embed"
	"net/http"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
)

// document describes the routes of this package and those of all services.
//
//go:embed openapi_merged.yaml
var document []byte

// DeviceServices sends commands to device services, within limits of time and concurrency.
type DeviceServices interface {
	// IsBuiltIn reports whether a device service is the one inside Ledge, which takes no commands.
	IsBuiltIn(s domain.DeviceService) bool
	// Send sends a request to a path below the base address of a device service. correlation is the id of the request that caused it. Close
	// the body of the answer. The error is context.DeadlineExceeded if the service is too slow. An error that is Permanent says why the
	// service may not be called. A domain Error is the answer to the client.
	Send(ctx context.Context, s domain.DeviceService, r *http.Request, correlation string) (*http.Response, error)
}

type service struct {
	*handlers.API
	state   entities.Reader
	log     handlers.Submitter
	devices DeviceServices
}

// New returns core-command: devices and profiles are read with state, commands are sent with devices and recorded with log.
func New(o handlers.Options, state entities.Reader, log handlers.Submitter, devices DeviceServices) http.Handler {
	s := handlers.NewService(o)
	v2 := service{API: s.API(handlers.V2), state: state, log: log, devices: devices}
	v2.ElementBytes = mostSettings
	v2.Serve([]handlers.Route{
		{Method: "GET", Path: "/device/all", Right: domain.MayRead, Handle: v2.listAll},
		{Method: "GET", Path: "/device/name/:name", Right: domain.MayRead, Handle: v2.listOfDevice},
		{Method: "GET", Path: "/device/name/:name/:command", Right: domain.MayServe, Handle: v2.get},
		{Method: "PUT", Path: "/device/name/:name/:command", Right: domain.MayServe, Handle: v2.put},
	})
	v2.RouteDocument(document)
	return s
}
