package domain

// DeviceService is a program that speaks to devices; "device-rest" is Ledge itself.
type DeviceService struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	// BaseAddress is the URL at which the service is called back.
	BaseAddress   string `json:"baseAddress"`
	AdminState    string `json:"adminState"`
	LastConnected int64  `json:"lastConnected,omitempty"`
	LastReported  int64  `json:"lastReported,omitempty"`
	Created       int64  `json:"created"`
	Modified      int64  `json:"modified"`
}

// DeviceREST is the name of the device service inside Ledge.
const DeviceREST = "device-rest"
