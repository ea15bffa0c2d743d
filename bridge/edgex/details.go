package edgex

import (
	"encoding/json"
	"math"
	"strconv"

	"ledge/domain"
)

// The entities of API v3, as the details of system events have them. Fields that only API v2 has are left out. The sources are the DTOs of
// go-mod-core-contracts 3.1 and 4.0.

// none is an empty object: API v2 has no properties of these entities.
type none struct{}

type device3 struct {
	Created        int64                        `json:"created"`
	Modified       int64                        `json:"modified"`
	ID             string                       `json:"id"`
	Name           string                       `json:"name"`
	Description    string                       `json:"description,omitempty"`
	AdminState     string                       `json:"adminState"`
	OperatingState string                       `json:"operatingState"`
	Labels         []string                     `json:"labels,omitempty"`
	Location       json.RawMessage              `json:"location,omitempty"`
	ServiceName    string                       `json:"serviceName"`
	ProfileName    string                       `json:"profileName"`
	ProtocolName   string                       `json:"protocolName,omitempty"` // of Ledge
	AutoEvents     []domain.AutoEvent           `json:"autoEvents,omitempty"`
	Protocols      map[string]map[string]string `json:"protocols"`
	Properties     none                         `json:"properties"`
}

func deviceV3(d domain.Device) device3 {
	return device3{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Name: d.Name, Description: d.Description, AdminState: d.AdminState,
		OperatingState: d.OperatingState, Labels: d.Labels, Location: d.Location, ServiceName: d.ServiceName, ProfileName: d.ProfileName,
		ProtocolName: d.ProtocolName, AutoEvents: d.AutoEvents, Protocols: d.Protocols,
	}
}

type profile3 struct {
	Created           int64                  `json:"created"`
	Modified          int64                  `json:"modified"`
	ID                string                 `json:"id"`
	Name              string                 `json:"name"`
	Manufacturer      string                 `json:"manufacturer,omitempty"`
	Description       string                 `json:"description,omitempty"`
	Model             string                 `json:"model,omitempty"`
	Labels            []string               `json:"labels,omitempty"`
	LinkedDeviceCount int64                  `json:"linkedDeviceCount"` // EdgeX 4.0 sends 0 here
	DeviceResources   []resource3            `json:"deviceResources"`
	DeviceCommands    []domain.DeviceCommand `json:"deviceCommands"`
}

type resource3 struct {
	Description string         `json:"description,omitempty"`
	Name        string         `json:"name"`
	IsHidden    bool           `json:"isHidden"`
	Properties  properties3    `json:"properties"`
	Attributes  map[string]any `json:"attributes,omitempty"`
}

// properties3 has numbers: API v2 has texts.
type properties3 struct {
	ValueType    string   `json:"valueType"`
	ReadWrite    string   `json:"readWrite"`
	Units        string   `json:"units,omitempty"`
	Minimum      *float64 `json:"minimum,omitempty"`
	Maximum      *float64 `json:"maximum,omitempty"`
	DefaultValue string   `json:"defaultValue,omitempty"`
	Mask         *uint64  `json:"mask,omitempty"`
	Shift        *int64   `json:"shift,omitempty"`
	Scale        *float64 `json:"scale,omitempty"`
	Offset       *float64 `json:"offset,omitempty"`
	Base         *float64 `json:"base,omitempty"`
	Assertion    string   `json:"assertion,omitempty"`
	MediaType    string   `json:"mediaType,omitempty"`
}

func profileV3(p domain.Profile) profile3 {
	v3 := profile3{
		Created: p.Created, Modified: p.Modified, ID: p.ID, Name: p.Name, Manufacturer: p.Manufacturer, Description: p.Description,
		Model: p.Model, Labels: p.Labels, DeviceResources: make([]resource3, len(p.DeviceResources)), DeviceCommands: p.DeviceCommands,
	}
	for i, r := range p.DeviceResources {
		v3.DeviceResources[i] = resource3{r.Description, r.Name, r.IsHidden, propertiesV3(r.Properties), r.Attributes}
	}
	if v3.DeviceCommands == nil {
		v3.DeviceCommands = []domain.DeviceCommand{}
	}
	return v3
}

func propertiesV3(p domain.ResourceProperties) properties3 {
	return properties3{
		ValueType: p.ValueType, ReadWrite: p.ReadWrite, Units: p.Units, Minimum: floatOf(p.Minimum), Maximum: floatOf(p.Maximum),
		DefaultValue: p.DefaultValue, Mask: maskOf(p.Mask), Shift: shiftOf(p.Shift), Scale: floatOf(p.Scale), Offset: floatOf(p.Offset),
		Base: floatOf(p.Base), Assertion: p.Assertion, MediaType: p.MediaType,
	}
}

// floatOf returns the number of a text; nil if JSON cannot have it as a number.
func floatOf(text string) *float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return &n
}

func maskOf(text string) *uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func shiftOf(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

type service3 struct {
	Created     int64    `json:"created"`
	Modified    int64    `json:"modified"`
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	BaseAddress string   `json:"baseAddress"`
	AdminState  string   `json:"adminState"`
	Properties  none     `json:"properties"`
}

func serviceV3(s domain.DeviceService) service3 {
	return service3{
		Created: s.Created, Modified: s.Modified, ID: s.ID, Name: s.Name, Description: s.Description, Labels: s.Labels,
		BaseAddress: s.BaseAddress, AdminState: s.AdminState,
	}
}

type watcher3 struct {
	Created             int64               `json:"created"`
	Modified            int64               `json:"modified"`
	ID                  string              `json:"id"`
	Name                string              `json:"name"`
	ServiceName         string              `json:"serviceName"`
	Labels              []string            `json:"labels,omitempty"`
	Identifiers         map[string]string   `json:"identifiers"`
	BlockingIdentifiers map[string][]string `json:"blockingIdentifiers,omitempty"`
	AdminState          string              `json:"adminState"`
	DiscoveredDevice    discovered3         `json:"discoveredDevice"`
}

// discovered3 describes the devices that a provision watcher adds.
type discovered3 struct {
	ProfileName string             `json:"profileName"`
	AdminState  string             `json:"adminState"`
	AutoEvents  []domain.AutoEvent `json:"autoEvents,omitempty"`
	Properties  none               `json:"properties"`
}

// watcherV3 returns an unlocked watcher: in API v2 the state is the one of the discovered devices, and a watcher has none of its own.
func watcherV3(w domain.ProvisionWatcher) watcher3 {
	return watcher3{
		Created: w.Created, Modified: w.Modified, ID: w.ID, Name: w.Name, ServiceName: w.ServiceName, Labels: w.Labels,
		Identifiers: w.Identifiers, BlockingIdentifiers: w.BlockingIdentifiers, AdminState: domain.StateUnlocked,
		DiscoveredDevice: discovered3{ProfileName: w.ProfileName, AdminState: w.AdminState, AutoEvents: w.AutoEvents},
	}
}
