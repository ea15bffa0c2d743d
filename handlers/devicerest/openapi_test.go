package devicerest

import (
	"net/http"
	"os"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
	"ledge/handlers/shapes/v2"
)

// contract is the document of this package: what the tests ask and are answered is held to it.
var contract = handlerstest.LoadContract(document)

func TestMain(m *testing.M) { os.Exit(contract.Run(m)) }

// exemplary returns device-rest with the device that the document takes for its example: one that comes with Ledge.
func exemplary(tb testing.TB, change func(*handlers.Options)) (http.Handler, []*handlerstest.Log) {
	h, log, _ := mustDeviceREST(tb, change)
	log.Given(tb,
		domain.AddProfile{Profile: domain.Profile{ID: handlerstest.ID(911), Name: "numeric", DeviceResources: []domain.DeviceResource{
			{Name: "int", Properties: domain.ResourceProperties{ValueType: "Int32", ReadWrite: "R"}},
		}}},
		domain.AddDevice{Device: domain.Device{
			ID: handlerstest.ID(912), Name: "sample-numeric", AdminState: "UNLOCKED", OperatingState: "UP", ServiceName: "device-rest", ProfileName: "numeric",
			ProtocolName: "rest", Protocols: map[string]map[string]string{"other": {}},
		}},
		domain.AddWatcher{Watcher: domain.ProvisionWatcher{
			ID: handlerstest.ID(913), Name: "floor-2", Identifiers: map[string]string{"address": "a"}, ServiceName: "device-rest", ProfileName: "numeric", AdminState: "UNLOCKED",
		}},
	)
	return h, []*handlerstest.Log{log}
}

func TestExamples(t *testing.T) { contract.DriveExamples(t, exemplary) }

func TestDocumentedFailures(t *testing.T) { contract.DriveFailures(t, exemplary) }

func TestDocument(t *testing.T) {
	s := New(handlerstest.Options("device-rest"), nil, nil, nil, nil).(*handlers.Service)
	contract.CheckDocument(t, s.Routes(), map[string]any{
		"Secret": handlers.SecretRequest{}, "Settings": map[string]any{}, "AddDevice": handlers.EntityIn[v2.Device]("device").Shape(),
		"UpdateDevice": handlers.PatchIn[v2.Device]("device").Shape(), "AddProfile": handlers.EntityIn[v2.Profile]("profile").Shape(),
		"UpdateService": handlers.PatchIn[v2.Service]("service").Shape(),
		"AddWatcher":    handlers.EntityIn[v2.Watcher]("provisionWatcher").Shape(),
		"UpdateWatcher": handlers.PatchIn[v2.Watcher]("provisionWatcher").Shape(),
	})
}

func TestPage(t *testing.T) {
	h, _ := exemplary(t, func(*handlers.Options) {})
	handlerstest.CheckPage(t, h)
}
