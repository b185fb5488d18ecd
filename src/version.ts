/** Put in by the build, from package.json. */
declare const __CLM_VERSION__: string;
export const VERSION: string = __CLM_VERSION__;
