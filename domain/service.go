package domain

// DeviceService is a program that speaks to devices; "device-rest" is Ledge itself, see IsBuiltIn. Its fields have the order of EdgeX 2.3.
type DeviceService struct {
	Created       int64    `json:"created" order:"2"`
	Modified      int64    `json:"modified" order:"2"`
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Description   string   `json:"description,omitempty"`
	LastConnected int64    `json:"lastConnected,omitempty" order:"1"`
	LastReported  int64    `json:"lastReported,omitempty" order:"1"`
	Labels        []string `json:"labels,omitempty"`
	// BaseAddress is the URL at which the service is called back.
	BaseAddress string `json:"baseAddress"`
	AdminState  string `json:"adminState"`
}

func (d *DeviceService) checkFields(c *checking) {
	c.checkField("baseAddress", d.BaseAddress, (*Problems).checkURL)
	c.checkState("adminState", d.AdminState, StateLocked, StateUnlocked)
}

// Check notes what is wrong with a device service.
func (d DeviceService) Check() Problems {
	c := newChecking(d.ID, d.Name)
	d.checkFields(&c)
	return c.Problems
}

// DeviceREST is the name of the device service inside Ledge, and DeviceRESTDescription its description at first.
const (
	DeviceREST            = "device-rest"
	DeviceRESTDescription = "Takes data that is posted for devices"
)

// IsBuiltIn reports whether a device service is the one inside Ledge. EdgeX's device-rest has the same name: it registers its own base
// address. isOwn reports whether Ledge listens at a base address. A record that is as Ledge wrote it is Ledge's own: its base address may
// have the port of an earlier start.
func (d DeviceService) IsBuiltIn(isOwn func(baseAddress string) bool) bool {
	unchanged := d.Modified == d.Created && d.Description == DeviceRESTDescription
	return d.Name == DeviceREST && (unchanged || isOwn(d.BaseAddress))
}
