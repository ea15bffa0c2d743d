package domain

// ResourcePatch changes the fields that are not nil of the device resource called Name.
type ResourcePatch struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	IsHidden    *bool   `json:"isHidden"`
}

// Apply returns r with the patch's fields.
func (c ResourcePatch) Apply(r DeviceResource) DeviceResource {
	set(&r.Description, c.Description)
	set(&r.IsHidden, c.IsHidden)
	return r
}

// Check notes what is wrong with the patch before the resource is known.
func (c ResourcePatch) Check() Problems { return checkPart(c.Name) }

// CommandPatch changes the fields that are not nil of the device command called Name.
type CommandPatch struct {
	Name     *string `json:"name"`
	IsHidden *bool   `json:"isHidden"`
}

// Apply returns d with the patch's fields.
func (c CommandPatch) Apply(d DeviceCommand) DeviceCommand {
	set(&d.IsHidden, c.IsHidden)
	return d
}

// Check notes what is wrong with the patch before the command is known.
func (c CommandPatch) Check() Problems { return checkPart(c.Name) }

// checkPart notes what is wrong with the name by which a patch says which part of a profile it is for.
func checkPart(name *string) Problems {
	var value string
	set(&value, name)
	return CheckName("name", value)
}
