package domain

import (
	"bytes"
	"encoding/json"
)

// Profile describes a kind of device: what can be read from it, written to it or posted for it.
type Profile struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	Manufacturer    string           `json:"manufacturer,omitempty"`
	Description     string           `json:"description,omitempty"`
	Model           string           `json:"model,omitempty"`
	Labels          []string         `json:"labels,omitzero"`
	DeviceResources []DeviceResource `json:"deviceResources,omitempty"`
	DeviceCommands  []DeviceCommand  `json:"deviceCommands,omitempty"`
	Created         int64            `json:"created"`
	Modified        int64            `json:"modified"`
}

// DeviceResource is one value of a device: its name is the last part of the path that data is posted to.
type DeviceResource struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	IsHidden    bool               `json:"isHidden,omitempty"`
	Tag         string             `json:"tag,omitempty"`
	Properties  ResourceProperties `json:"properties"`
	Attributes  map[string]any     `json:"attributes,omitzero"`
}

// ResourceProperties constrains the values of a resource. Numbers are kept as the text that the user wrote.
type ResourceProperties struct {
	ValueType    string `json:"valueType"`
	ReadWrite    string `json:"readWrite"`
	Units        string `json:"units,omitempty"`
	Minimum      string `json:"minimum,omitempty"`
	Maximum      string `json:"maximum,omitempty"`
	DefaultValue string `json:"defaultValue,omitempty"`
	Mask         string `json:"mask,omitempty"`
	Shift        string `json:"shift,omitempty"`
	Scale        string `json:"scale,omitempty"`
	Offset       string `json:"offset,omitempty"`
	Base         string `json:"base,omitempty"`
	Assertion    string `json:"assertion,omitempty"`
	MediaType    string `json:"mediaType,omitempty"`
}

// DeviceCommand reads or writes several resources at once.
type DeviceCommand struct {
	Name               string              `json:"name"`
	IsHidden           bool                `json:"isHidden,omitempty"`
	ReadWrite          string              `json:"readWrite"`
	ResourceOperations []ResourceOperation `json:"resourceOperations"`
}

// ResourceOperation is one resource's part in a DeviceCommand.
type ResourceOperation struct {
	DeviceResource string            `json:"deviceResource"`
	DefaultValue   string            `json:"defaultValue,omitempty"`
	Mappings       map[string]string `json:"mappings,omitzero"`
}

// Resource returns the resource called name.
func (p Profile) Resource(name string) (DeviceResource, bool) {
	for _, r := range p.DeviceResources {
		if r.Name == name {
			return r, true
		}
	}
	return DeviceResource{}, false
}

// HideValue is the attribute, true in a profile, by which the values that are written to a resource are not recorded.
const HideValue = "hideValue"

// hiddenValue stands for a value that is not recorded.
var hiddenValue = json.RawMessage(`"(hidden)"`)

// HideValues replaces the values of resources whose attribute hideValue is true, and reports whether there are any. values is by resource.
func (p Profile) HideValues(values map[string]json.RawMessage) (hidden bool) {
	for i := range p.DeviceResources {
		r := &p.DeviceResources[i]
		if _, ok := values[r.Name]; ok && r.Attributes[HideValue] == true {
			values[r.Name], hidden = bytes.Clone(hiddenValue), true
		}
	}
	return hidden
}
