/** Where a gateway is, unless somebody says otherwise. */
export const usualPort = 4141;
export const usualGateway = `http://127.0.0.1:${usualPort}`;
