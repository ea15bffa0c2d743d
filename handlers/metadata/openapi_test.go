package metadata

import (
	"net/http"
	"os"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/handlerstest"
	"ledge/handlers/shapes"
)

// contract is the document of this package: what the tests ask and are answered is held to it.
var contract = handlerstest.LoadContract(document)

func TestMain(m *testing.M) { os.Exit(contract.Run(m)) }

// exemplary returns core-metadata with what the examples of the document need beside the usual: things that nobody uses.
func exemplary(tb testing.TB, change func(*handlers.Options)) (http.Handler, []*handlerstest.Log) {
	h, log := mustMetadata(tb, change)
	resource := func(name string) domain.DeviceResource {
		return domain.DeviceResource{Name: name, Properties: domain.ResourceProperties{ValueType: "Float64", ReadWrite: "R"}}
	}
	log.Given(tb,
		domain.AddService{Service: domain.DeviceService{ID: handlerstest.ID(901), Name: "device-modbus", BaseAddress: "http://h:1", AdminState: "UNLOCKED"}},
		domain.AddProfile{Profile: domain.Profile{
			ID: handlerstest.ID(902), Name: "sensor", Manufacturer: "Example", Model: "C-1",
			DeviceResources: []domain.DeviceResource{resource("temperature"), resource("humidity")},
			DeviceCommands: []domain.DeviceCommand{{
				Name: "read", ReadWrite: "R", ResourceOperations: []domain.ResourceOperation{{DeviceResource: "temperature"}},
			}},
		}},
		domain.AddWatcher{Watcher: domain.ProvisionWatcher{
			ID: handlerstest.ID(903), Name: "floor-2", Identifiers: map[string]string{"address": "a"}, ServiceName: "device-rest", ProfileName: "camera", AdminState: "UNLOCKED",
		}},
	)
	return h, []*handlerstest.Log{log}
}

func TestExamples(t *testing.T) { contract.DriveExamples(t, exemplary) }

func TestDocumentedFailures(t *testing.T) { contract.DriveFailures(t, exemplary) }

func TestDocument(t *testing.T) {
	s := New(handlerstest.Options("core-metadata"), nil, nil).(*handlers.Service)
	contract.CheckDocument(t, s.Routes(), map[string]any{
		"AddDevice": shapes.AddDevice{}, "UpdateDevice": shapes.UpdateDevice{}, "AddProfile": shapes.AddProfile{}, "UpdateProfileInfo": updateProfileInfo{},
		"AddResource": addResource{}, "UpdateResource": updateResource{}, "AddCommand": addCommand{}, "UpdateCommand": updateCommand{},
		"AddService": shapes.AddService{}, "UpdateService": shapes.UpdateService{}, "AddWatcher": shapes.AddWatcher{}, "UpdateWatcher": shapes.UpdateWatcher{},
	})
}

func TestPage(t *testing.T) {
	h, _ := exemplary(t, func(*handlers.Options) {})
	handlerstest.CheckPage(t, h)
}
