// Sdkservice is a device service on EdgeX's own SDK: a driver without hardware, which prints what the SDK has it do.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/edgexfoundry/device-sdk-go/v2/pkg/models"
	"github.com/edgexfoundry/device-sdk-go/v2/pkg/service"
	"github.com/edgexfoundry/device-sdk-go/v2/pkg/startup"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/clients/logger"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/models"
)

func main() { startup.Bootstrap("device-sdk", "2.3.1", &driver{}) }

type driver struct{}

type protocols = map[string]models.ProtocolProperties

// Initialize adds a path that shows what the SDK knows.
func (*driver) Initialize(logger.LoggingClient, chan<- *sdk.AsyncValues, chan<- []sdk.DiscoveredDevice) error {
	return service.RunningService().AddRoute("/known", known, http.MethodGet)
}

func known(w http.ResponseWriter, _ *http.Request) {
	s := service.RunningService()
	_ = json.NewEncoder(w).Encode(map[string]any{
		"devices": s.Devices(), "profiles": s.DeviceProfiles(), "watchers": s.ProvisionWatchers(),
	})
}

// ValidateDevice takes no device whose name begins with bad.
func (*driver) ValidateDevice(d models.Device) error {
	if strings.HasPrefix(d.Name, "bad") {
		return fmt.Errorf("%s has no address", d.Name)
	}
	return nil
}

func (*driver) AddDevice(name string, _ protocols, state models.AdminState) error {
	fmt.Println("added", name, state)
	return nil
}

func (*driver) UpdateDevice(name string, _ protocols, state models.AdminState) error {
	fmt.Println("updated", name, state)
	return nil
}

func (*driver) RemoveDevice(name string, _ protocols) error {
	fmt.Println("removed", name)
	return nil
}

func (*driver) HandleReadCommands(string, protocols, []sdk.CommandRequest) ([]*sdk.CommandValue, error) {
	return nil, fmt.Errorf("there is no hardware")
}

func (*driver) HandleWriteCommands(string, protocols, []sdk.CommandRequest, []*sdk.CommandValue) error {
	return fmt.Errorf("there is no hardware")
}

func (*driver) Stop(bool) error { return nil }
