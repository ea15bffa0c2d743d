package metadata

import (
	"net/http"
	"os"
	"testing"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/handlerstest"
	v2 "ledge/handlers/shapes/v2"
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
		domain.AddUser{User: domain.User{Name: "admin", Role: domain.Admin, Credential: "c-0"}},
		domain.AddUser{User: domain.User{Name: "anna", Role: domain.Admin, Credential: "c-1"}},
		domain.AddToken{Token: domain.Token{Name: "pos-7", Role: domain.Poster, Credential: "c-2", Created: 5, Expires: handlerstest.NowMilli + 1}},
	)
	return as(h, domain.Identity{Actor: "user:anna", Role: domain.Admin, Credential: "c-1"}), []*handlerstest.Log{log}
}

// as has a request come from an identity: users and tokens need a login.
func as(h http.Handler, id domain.Identity) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(access.WithIdentity(r.Context(), id)))
	})
}

func TestExamples(t *testing.T) { contract.DriveExamples(t, exemplary) }

func TestDocumentedFailures(t *testing.T) { contract.DriveFailures(t, exemplary) }

func TestDocument(t *testing.T) {
	s := New(handlerstest.Options("core-metadata"), nil, nil, nil, nil, nil).(*handlers.Service)
	contract.CheckDocument(t, s.Routes(), map[string]any{
		"AddDevice": handlers.EntityIn[v2.Device]("device").Shape(), "UpdateDevice": handlers.PatchIn[v2.Device]("device").Shape(),
		"AddProfile":        handlers.EntityIn[v2.Profile]("profile").Shape(),
		"UpdateProfileInfo": handlers.PatchIn[v2.Profile]("basicinfo").Shape(), "AddResource": addResource{},
		"UpdateResource": updateResource{}, "AddCommand": addCommand{}, "UpdateCommand": updateCommand{},
		"AddService":    handlers.EntityIn[v2.Service]("service").Shape(),
		"UpdateService": handlers.PatchIn[v2.Service]("service").Shape(),
		"AddWatcher":    handlers.EntityIn[v2.Watcher]("provisionWatcher").Shape(),
		"UpdateWatcher": handlers.PatchIn[v2.Watcher]("provisionWatcher").Shape(), "AddUser": addUser{}, "UpdateUser": updateUser{},
		"ChangePassword": changePassword{}, "AddToken": addToken{}, "RotateToken": rotateToken{},
	})
}

func TestPage(t *testing.T) {
	h, _ := exemplary(t, func(*handlers.Options) {})
	handlerstest.CheckPage(t, h)
}
