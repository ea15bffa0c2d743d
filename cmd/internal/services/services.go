// Package services has the one table of the HTTP services: their names, ports and settings. The server, the console, the metrics and the
// tests read it.
package services

import (
	"slices"

	"ledge/store"
)

// The HTTP services, by their names in EdgeX.
const (
	Metadata      = "core-metadata"
	Data          = "core-data"
	Command       = "core-command"
	DeviceREST    = "device-rest"
	Notifications = "support-notifications"
	Console       = "console" // the management UI, which has a port of its own
)

// Service is an HTTP service of the program. A new service is a folder below handlers, with the table of its routes and its OpenAPI
// document, a row in All, and a row in server.servingOf.
type Service struct {
	Name    string // in logs, in metrics and in docs/reference/rights.md
	Key     string // of its URL in the ready line
	Setting string // begins the name of the setting of its port
	About   string // in help texts
	Port    int    // by default
	Stream  string // of the log whose series its port shows, if any
	Folder  string // below handlers
}

// EdgeXHost is the name of a REST service in EdgeX's compose files.
func (s Service) EdgeXHost() string { return "edgex-" + s.Name }

// PortSetting is the name of the setting of the port.
func (s Service) PortSetting() string { return s.Setting + "-port" }

// All are all HTTP services. The console calls those before it.
var All = []Service{
	{Metadata, "metadata", "metadata", "the metadata service", 59881, store.EventsStream, "metadata"},
	{Data, "core-data", "data", "the data service, which is EdgeX's core-data", 59880, store.ReadingsStream, "data"},
	{Command, "command", "command", "the command service, which is EdgeX's core-command", 59882, "", "command"},
	{DeviceREST, "device-rest", "device-rest", "the REST device service", 59986, "", "devicerest"},
	{Notifications, "notifications", "notifications", "the notifications service", 59860, store.NotificationsStream, "notifications"},
	{Console, "console", "console", "the console, which is the management UI", 9090, "", "console"},
}

// REST are the services with EdgeX's API: all but the console.
func REST() []Service { return All[:len(All)-1] }

// FreePorts returns the flags of `ledge serve` that have each service listen on a free port. nats is the value of nats-port: "0" for a free
// port, "-1" for none.
func FreePorts(nats string) []string {
	flags := []string{"--nats-port", nats}
	for _, one := range All {
		flags = append(flags, "--"+one.PortSetting(), "0")
	}
	return flags
}

// Named returns the row of a service.
func Named(name string) Service {
	return All[slices.IndexFunc(All, func(s Service) bool { return s.Name == name })]
}
