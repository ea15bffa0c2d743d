package command

import (
	"net/http"
	"os"
	"testing"
	"time"

	"ledge/bridge/command"
	"ledge/bridge/commandtest"
	"ledge/bridge/guard"
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
)

// contract is the document of this package, to which the requests and answers of the tests are held.
var contract = handlerstest.LoadContract(document)

func TestMain(m *testing.M) { os.Exit(contract.Run(m)) }

// parts are core-command with a log and a device service.
type parts struct {
	http.Handler
	log     *handlerstest.Log
	service *commandtest.Service
}

// mustCommand returns core-command with the device pump-1, whose device service runs, and post-1, of device-rest. A command may take
// timeout; 0 stands for as long as by default.
func mustCommand(tb testing.TB, timeout time.Duration, change ...func(*handlers.Options)) parts {
	tb.Helper()
	p := parts{log: handlerstest.NewLog(), service: commandtest.Start(tb)}
	sender := command.New(command.Options{Guard: guard.New(guard.Options{}), Limits: command.Limits{Timeout: timeout}})
	tb.Cleanup(sender.Close)
	profile := commandtest.Profile("pump", "Int8", "Bool")
	profile.DeviceResources = append(profile.DeviceResources, domain.DeviceResource{
		Name: "Int16", Properties: domain.ResourceProperties{ValueType: "Int16", ReadWrite: "RW"},
		Attributes: map[string]any{domain.HideValue: true},
	})
	device := func(id int, name, service string) domain.Command {
		return domain.AddDevice{Device: domain.Device{
			ID: handlerstest.ID(id), Name: name, AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: service, ProfileName: "pump",
			ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
		}}
	}
	p.log.Given(tb,
		domain.AddProfile{Profile: profile},
		domain.AddService{Service: domain.DeviceService{ID: handlerstest.ID(901), Name: "device-pump", BaseAddress: p.service.URL,
			AdminState: "UNLOCKED"}},
		domain.AddService{Service: domain.DeviceService{ID: handlerstest.ID(902), Name: "device-rest", BaseAddress: "http://h:1",
			Description: domain.DeviceRESTDescription, AdminState: "UNLOCKED"}},
		device(903, "post-1", "device-rest"), device(904, "pump-1", "device-pump"),
	)
	o := handlerstest.Options("core-command")
	o.Addresses = map[string]string{"core-command": "http://localhost:59882"}
	for _, f := range change {
		f(&o)
	}
	p.Handler = contract.Watch(tb, New(o, p.log.View, p.log, sender))
	return p
}

func newExemplary(tb testing.TB, change func(*handlers.Options)) (http.Handler, []*handlerstest.Log) {
	p := mustCommand(tb, 0, change)
	return p, []*handlerstest.Log{p.log}
}

func TestExamples(t *testing.T) { contract.DriveExamples(t, newExemplary) }

func TestDocumentedFailures(t *testing.T) { contract.DriveFailures(t, newExemplary) }

func TestDocument(t *testing.T) {
	s := New(handlerstest.Options("core-command"), nil, nil, nil).(*handlers.Service)
	contract.CheckDocument(t, s.Routes(), map[string]any{"Settings": map[string]any{}})
}

func TestPage(t *testing.T) {
	h, _ := newExemplary(t, func(*handlers.Options) {})
	handlerstest.CheckPage(t, h)
}
