package server

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/google/uuid"

	"ledge/domain"
)

// seedSamples writes commands of a first start, as events like any other.
func seedSamples(ctx context.Context, commands []domain.Command, log submitter, now time.Time) error {
	var reqs []domain.Request
	for _, cmd := range commands {
		reqs = append(reqs, domain.Request{Stamp: domain.Stamp{EventID: uuid.NewString(), At: now, Actor: "ledge", Origin: "samples"}, Command: cmd})
	}
	outcomes, err := log.Submit(ctx, reqs...)
	if ctx.Err() != nil {
		return fmt.Errorf("write the samples: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("write the samples: %w", err)
	}
	for _, o := range outcomes {
		// A conflict is a sample that was written before a crash cut the first start short.
		if o.Err != nil && domain.CodeOf(o.Err) != domain.Conflict {
			return fmt.Errorf("write the samples: %w", o.Err)
		}
	}
	return nil
}

type submitter interface {
	Submit(ctx context.Context, reqs ...domain.Request) ([]domain.Outcome, error)
}

// sampleCommands returns the commands that add the device service "device-rest" at an address, and with samples the sample profiles and
// devices. at is the time in milliseconds since the Unix epoch.
func sampleCommands(scheme, address string, samples bool, at int64) []domain.Command {
	host, port, _ := net.SplitHostPort(address) // of a listener: cannot fail
	if ip := net.ParseIP(host); ip.IsUnspecified() || ip.IsLoopback() {
		host = "localhost"
	}
	cmds := []domain.Command{domain.AddService{Service: domain.DeviceService{
		ID: uuid.NewString(), Name: domain.DeviceREST, AdminState: domain.StateUnlocked, Created: at, Modified: at,
		Description: domain.DeviceRESTDescription, Labels: []string{"rest"},
		BaseAddress: scheme + "://" + net.JoinHostPort(host, port),
	}}}
	if !samples {
		return append(cmds, domain.SeedSamples{})
	}
	for _, p := range sampleProfiles {
		p.ID, p.Created, p.Modified = uuid.NewString(), at, at
		p.Manufacturer, p.Model, p.Labels = "Ledge", "sample", []string{"sample"}
		cmds = append(cmds, domain.AddProfile{Profile: p})
	}
	for _, p := range sampleProfiles {
		cmds = append(cmds, domain.AddDevice{Device: domain.Device{
			ID: uuid.NewString(), Name: p.Name, Description: "Sample device: " + p.Description, Labels: []string{"sample"},
			AdminState: domain.StateUnlocked, OperatingState: domain.StateUp, ServiceName: domain.DeviceREST,
			ProfileName: p.Name, ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
			Created: at, Modified: at,
		}})
	}
	return append(cmds, domain.SeedSamples{})
}

// sampleProfiles are the samples of EdgeX 2.3's device-rest: the names and resources are the same.
var sampleProfiles = []domain.Profile{
	{Name: "sample-image", Description: "images as binary values", DeviceResources: []domain.DeviceResource{
		resource("jpeg", "A JPEG image", "Binary", "image/jpeg"), resource("png", "A PNG image", "Binary", "image/png"),
	}},
	{Name: "sample-json", Description: "JSON objects", DeviceResources: []domain.DeviceResource{
		resource("json", "A JSON object", "Object", "application/json"),
	}},
	{Name: "sample-numeric", Description: "numbers as plain text", DeviceResources: []domain.DeviceResource{
		resource("int", "A whole number", "Int64", "text/plain"), resource("float", "A number", "Float64", "text/plain"),
	}},
}

func resource(name, description, valueType, mediaType string) domain.DeviceResource {
	return domain.DeviceResource{Name: name, Description: description, Properties: domain.ResourceProperties{
		ValueType: valueType, ReadWrite: "R", MediaType: mediaType,
	}}
}
