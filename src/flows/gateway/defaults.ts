export const defaultPort = 4141;
export const defaultGatewayUrl = `http://127.0.0.1:${defaultPort}`;
export const defaultSignProxyPort = 4142;
