package v2

import "ledge/domain"

// Profile is a device profile in requests, answers and uploaded files. As in EdgeX 2.3 an answer has what is empty
// too, and null for no labels.
type Profile struct {
	Created         int64      `json:"created,omitempty" yaml:"-" patch:"-"`
	Modified        int64      `json:"modified,omitempty" yaml:"-" patch:"-"`
	ID              string     `json:"id,omitempty" yaml:"id"`
	Name            string     `json:"name" yaml:"name"`
	Manufacturer    string     `json:"manufacturer" yaml:"manufacturer"`
	Description     string     `json:"description" yaml:"description"`
	Model           string     `json:"model" yaml:"model"`
	Labels          []string   `json:"labels" yaml:"labels"`
	DeviceResources []Resource `json:"deviceResources" yaml:"deviceResources" patch:"-"`
	DeviceCommands  []Command  `json:"deviceCommands" yaml:"deviceCommands" patch:"-"`
}

// Resource is a device resource of a profile.
type Resource struct {
	Description string         `json:"description" yaml:"description"`
	Name        string         `json:"name" yaml:"name"`
	IsHidden    bool           `json:"isHidden" yaml:"isHidden"`
	Tag         string         `json:"tag" yaml:"tag"`
	Properties  Properties     `json:"properties" yaml:"properties"`
	Attributes  map[string]any `json:"attributes" yaml:"attributes"`
}

// Properties has the fields of domain.ResourceProperties in the same order, so that one converts to the other.
type Properties struct {
	ValueType    string `json:"valueType" yaml:"valueType"`
	ReadWrite    string `json:"readWrite" yaml:"readWrite"`
	Units        string `json:"units" yaml:"units"`
	Minimum      string `json:"minimum" yaml:"minimum"`
	Maximum      string `json:"maximum" yaml:"maximum"`
	DefaultValue string `json:"defaultValue" yaml:"defaultValue"`
	Mask         string `json:"mask" yaml:"mask"`
	Shift        string `json:"shift" yaml:"shift"`
	Scale        string `json:"scale" yaml:"scale"`
	Offset       string `json:"offset" yaml:"offset"`
	Base         string `json:"base" yaml:"base"`
	Assertion    string `json:"assertion" yaml:"assertion"`
	MediaType    string `json:"mediaType" yaml:"mediaType"`
}

// Command is a device command of a profile.
type Command struct {
	Name               string      `json:"name" yaml:"name"`
	IsHidden           bool        `json:"isHidden" yaml:"isHidden"`
	ReadWrite          string      `json:"readWrite" yaml:"readWrite"`
	ResourceOperations []Operation `json:"resourceOperations" yaml:"resourceOperations"`
}

// Operation is what a device command does with one resource.
type Operation struct {
	DeviceResource string            `json:"deviceResource" yaml:"deviceResource"`
	DefaultValue   string            `json:"defaultValue" yaml:"defaultValue"`
	Mappings       map[string]string `json:"mappings" yaml:"mappings"`
}

// Entity returns the profile that a request describes; its id and times are the caller's.
func (d Profile) Entity() domain.Profile {
	return domain.Profile{
		ID: d.ID, Name: d.Name, Manufacturer: d.Manufacturer, Description: d.Description, Model: d.Model,
		Labels:          d.Labels,
		DeviceResources: convert(d.DeviceResources, Resource.Entity),
		DeviceCommands:  convert(d.DeviceCommands, Command.Entity),
	}.Normalize()
}

// OfProfile returns a profile as answers show it.
func OfProfile(d domain.Profile) Profile {
	return Profile{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Name: d.Name, Manufacturer: d.Manufacturer,
		Description: d.Description, Model: d.Model, Labels: d.Labels,
		DeviceResources: convert(d.DeviceResources, OfResource),
		DeviceCommands:  convert(d.DeviceCommands, OfCommand),
	}
}

// Entity returns the device resource that a request describes.
func (r Resource) Entity() domain.DeviceResource {
	return domain.DeviceResource{
		Name: r.Name, Description: r.Description, IsHidden: r.IsHidden, Tag: r.Tag,
		Properties: domain.ResourceProperties(r.Properties), Attributes: r.Attributes,
	}
}

// OfResource returns a device resource as answers show it.
func OfResource(r domain.DeviceResource) Resource {
	return Resource{
		Name: r.Name, Description: r.Description, IsHidden: r.IsHidden, Tag: r.Tag,
		Properties: Properties(r.Properties), Attributes: r.Attributes,
	}
}

// Entity returns the device command that a request describes.
func (c Command) Entity() domain.DeviceCommand {
	return domain.DeviceCommand{
		Name: c.Name, IsHidden: c.IsHidden, ReadWrite: c.ReadWrite,
		ResourceOperations: convert(c.ResourceOperations, func(o Operation) domain.ResourceOperation {
			return domain.ResourceOperation(o)
		}),
	}
}

// OfCommand returns a device command as answers show it.
func OfCommand(c domain.DeviceCommand) Command {
	return Command{
		Name: c.Name, IsHidden: c.IsHidden, ReadWrite: c.ReadWrite,
		ResourceOperations: convert(c.ResourceOperations, func(o domain.ResourceOperation) Operation {
			return Operation(o)
		}),
	}
}

// convert returns [] for no list, as EdgeX answers.
func convert[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
